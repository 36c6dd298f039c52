-- When others had the names that an account has or had, told by the name's place among its own.
with called as (
    select * from unnest(%(users)s::text[]) with ordinality as called (user_id, place)
)
select called.place::int - 1 as place, former.called_since, former.called_until
  from called
  join memory.former_account as former on former.former_user_id = called.user_id
 where not exists (select from called as own where own.user_id = former.user_id)
