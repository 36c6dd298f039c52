-- Sessions of a file that mean a forgotten one are forgotten too.
select memory.bind_sessions(%(user_id)s, %(agent_id)s, %(session_ids)s::text[], %(forgotten_ids)s::text[])
