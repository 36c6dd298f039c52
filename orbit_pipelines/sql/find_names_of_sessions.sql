-- Every change of names that leads to or from the given sessions, over any number of others.
with recursive reached (user_id, agent_id, session_id) as (
    select given.user_id collate "C", given.agent_id collate "C", given.session_id collate "C"
      from unnest(%(users)s::text[], %(agents)s::text[], %(sessions)s::text[])
           as given (user_id, agent_id, session_id)
    union
    select other.user_id, other.agent_id, other.session_id
      from reached
     cross join lateral (
         select former.former_user_id, former.former_agent_id, former.former_session_id
           from memory.former_session as former
          where (former.user_id, former.agent_id, former.session_id)
              = (reached.user_id, reached.agent_id, reached.session_id)
         union all
         select former.user_id, former.agent_id, former.session_id
           from memory.former_session as former
          where (former.former_user_id, former.former_agent_id, former.former_session_id)
              = (reached.user_id, reached.agent_id, reached.session_id)
     ) as other (user_id, agent_id, session_id)
)
select former.user_id, former.agent_id, former.session_id,
       former.former_user_id, former.former_agent_id, former.former_session_id,
       exists (select from orbitpilot.session as present
                where (present.user_id, present.agent_id, present.session_id)
                    = (former.former_user_id, former.former_agent_id, former.former_session_id))
       or {{account_taken}} as is_taken,
       former.is_gone,
       former.is_reused,
       {{of_other_person}} as is_of_other,
       {{followed}} as is_followed
  from reached
  join memory.former_session as former
    on (former.user_id, former.agent_id, former.session_id)
     = (reached.user_id, reached.agent_id, reached.session_id)
