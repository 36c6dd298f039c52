-- Whether a record exists.
select from orbitpilot.record
 where (user_id, agent_id, source_key, source_id) = (%(user_id)s, %(agent_id)s, %(source_key)s, %(source_id)s)
