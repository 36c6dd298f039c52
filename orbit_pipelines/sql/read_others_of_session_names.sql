-- When others had the names that a session has or had, told by the name's place among its own; of the present one also when
-- an account had it that is called otherwise now.
with called as (
    select * from unnest(%(users)s::text[], %(agents)s::text[], %(sessions)s::text[])
        with ordinality as called (user_id, agent_id, session_id, place)
)
select called.place::int - 1 as place, former.called_since, former.called_until
  from called
  join memory.former_session as former
    on (former.former_user_id, former.former_agent_id, former.former_session_id)
     = (called.user_id, called.agent_id, called.session_id)
 where not exists (select from called as own
                    where (own.user_id, own.agent_id, own.session_id)
                        = (former.user_id, former.agent_id, former.session_id))
union all
select called.place::int - 1, former.called_since, former.called_until
  from called
  join memory.former_account as former on former.former_user_id = called.user_id
 where called.place = 1
   and not exists (select from called as own where own.user_id = former.user_id)
