-- Who took part, as far as files tell: nobody leaves because a file doesn't name them.
with joined as (
    insert into orbitpilot.session_participant (user_id, agent_id, session_id, actor_id)
    select session.user_id, session.agent_id, session.session_id, unnest(incoming.participants)
      from incoming_session as incoming
      join orbitpilot.session as session
        on (session.user_id, session.agent_id, session.session_id)
         = (%(user_id)s, %(agent_id)s, incoming.session_id)
        on conflict do nothing
    returning session_id
)
update incoming_session as incoming
   set is_edited = true
 where incoming.session_id in (select session_id from joined)
