-- One row, and only if its flag differs: a flag set again wakes no build.
update orbitpilot.message
   set not_remembered = %(not_remembered)s
 where (user_id, agent_id, session_id, message_id)
     = (%(user_id)s, %(agent_id)s, %(session_id)s, %(message_id)s)
   and role = 'user'
   and not_remembered is distinct from %(not_remembered)s
