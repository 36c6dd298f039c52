-- Which of some snippets also stand in messages of the same stores that are not selected.
select snippet
  from unnest(%(snippets)s::text[]) as snippet
 where exists (select
                 from orbitpilot.message as message
                where message.user_id = %(user_id)s and message.agent_id = any(%(agents)s)
                  and message.role in ('user', 'assistant')
                  and position(snippet in message.content) > 0
                  and not exists (select
                                    from unnest(%(session_agents)s::text[], %(session_ids)s::text[])
                                         as sessions (agent_id, session_id)
                                   where (sessions.agent_id, sessions.session_id)
                                       = (message.agent_id, message.session_id)))
