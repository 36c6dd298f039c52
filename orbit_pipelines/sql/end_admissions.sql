-- Sessions that no rule keeps out any more. One that should be kept out again is counted anew.
delete from memory.session_admission as held
 using unnest(%(user_id)s::text[], %(agent_id)s::text[], %(session_id)s::text[]) as gone (user_id, agent_id, session_id)
 where (held.user_id, held.agent_id, held.session_id) = (gone.user_id, gone.agent_id, gone.session_id)
