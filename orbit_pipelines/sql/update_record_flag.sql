-- One row, and only if its flag differs: a flag set again wakes no build.
update orbitpilot.record
   set is_excluded = %(is_excluded)s
 where (user_id, agent_id, source_key, source_id) = (%(user_id)s, %(agent_id)s, %(source_key)s, %(source_id)s)
   and is_excluded is distinct from %(is_excluded)s
