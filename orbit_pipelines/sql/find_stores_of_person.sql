-- Every agent that has, or had, anything of a person: what an account that is taken whole is made of.
select agent_id from orbitpilot.session where user_id = %(user)s
union select agent_id from orbitpilot.record where user_id = %(user)s
union select agent_id from memory.pair where user_id = %(user)s
union select agent_id from memory.store where user_id = %(user)s
union select agent_id from memory.chunk where user_id = %(user)s
union select agent_id from memory.embedding_cache where user_id = %(user)s
union select agent_id from memory.change where user_id = %(user)s
union select agent_id from memory.skipped where user_id = %(user)s
union select agent_id from memory.tombstone where user_id = %(user)s
union select agent_id from memory.forgotten_record where user_id = %(user)s
union select agent_id from orbitpilot.deletion where user_id = %(user)s and agent_id is not null
 order by 1
