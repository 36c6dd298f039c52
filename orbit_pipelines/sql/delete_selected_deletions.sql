-- The next build takes these sessions whole because of their tombstones, so that nothing is missed.
delete from orbitpilot.deletion as deletion
 using unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
 where (deletion.user_id, deletion.agent_id, deletion.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
