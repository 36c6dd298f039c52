-- One row, and only if its flag differs: a flag set again wakes no build. Null turns it, whichever way it stands by then.
update orbitpilot.message
   set not_remembered = coalesce(%(not_remembered)s::boolean, not not_remembered)
 where (user_id, agent_id, session_id, message_id)
     = (%(user_id)s, %(agent_id)s, %(session_id)s, %(message_id)s)
   and role = 'user'
   and not_remembered is distinct from %(not_remembered)s::boolean
returning not_remembered
