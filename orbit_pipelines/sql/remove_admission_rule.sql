-- The row stays, so that the next build finds the sessions it matched.
update memory.admission_rule
   set removed_at = now()
 where removed_at is null
   and (kind, value) = (%(kind)s, memory.trimmed(%(value)s))
   and user_id is not distinct from %(user_id)s and agent_id is not distinct from %(agent_id)s
