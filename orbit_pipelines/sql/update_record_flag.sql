-- One row, and only if its flag differs: a flag set again wakes no build. Null turns it, whichever way it stands by then.
update orbitpilot.record
   set is_excluded = coalesce(%(is_excluded)s::boolean, not is_excluded)
 where (user_id, agent_id, source_key, source_id) = (%(user_id)s, %(agent_id)s, %(source_key)s, %(source_id)s)
   and is_excluded is distinct from %(is_excluded)s::boolean
returning is_excluded
