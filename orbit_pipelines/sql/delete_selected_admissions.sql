-- How much of a session memory had covered is of no more use: its tombstone outranks every rule.
delete from memory.session_admission as admission
 using unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
 where (admission.user_id, admission.agent_id, admission.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
