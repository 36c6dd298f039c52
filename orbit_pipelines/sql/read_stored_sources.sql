-- Which pairs and records of a person are in memory.
select distinct user_id, agent_id, source_key, source_id from memory.chunk where user_id = %(user_id)s
