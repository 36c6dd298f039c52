-- Every change of names that leads to or from the given accounts, over any number of others.
with recursive reached (user_id) as (
    select given.user_id collate "C"
      from unnest(%(users)s::text[])
           as given (user_id)
    union
    select other.user_id
      from reached
     cross join lateral (
         select former.former_user_id
           from memory.former_account as former
          where former.user_id
              = reached.user_id
         union all
         select former.user_id
           from memory.former_account as former
          where former.former_user_id
              = reached.user_id
     ) as other (user_id)
)
select former.user_id,
       former.former_user_id,
       exists (select from orbitpilot.account as present
                where present.user_id
                    = former.former_user_id) as is_taken,
       former.is_gone,
       former.is_reused,
       false as is_of_other,
       {{followed}} as is_followed
  from reached
  join memory.former_account as former
    on former.user_id
     = reached.user_id
