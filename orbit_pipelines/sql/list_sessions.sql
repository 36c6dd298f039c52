-- Sessions of a person, the newest first, or one of them; each with how it begins, for whoever looks for it.
select session.agent_id, session.session_id, session.title, opening.content as opening,
       session.started_at, session.closed_at,
       (select count(*)
          from orbitpilot.message as message
         where (message.user_id, message.agent_id, message.session_id)
             = (session.user_id, session.agent_id, session.session_id)
           and message.is_active
           and message.role in ('user', 'assistant')) as messages,
       session.channel is not distinct from %(channel)s and session.closed_at is null as is_running,
       exists (select
                 from memory.tombstone as tombstone
                where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                    = (session.user_id, session.agent_id, session.session_id)) as is_forgotten
  from orbitpilot.session as session
  left join lateral (select message.content
                       from orbitpilot.message as message
                      where (message.user_id, message.agent_id, message.session_id)
                          = (session.user_id, session.agent_id, session.session_id)
                        and message.is_active
                        and message.role = 'user'
                      order by message.position
                      limit 1) as opening on true
 where session.user_id = %(user_id)s
   and (%(session_id)s::text is null or (session.agent_id, session.session_id) = (%(agent_id)s, %(session_id)s))
 order by session.started_at desc nulls last, session.agent_id, session.session_id
 limit %(limit)s
offset %(offset)s
