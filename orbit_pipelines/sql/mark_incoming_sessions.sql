-- A do-not-remember mark counts once, when it is first seen: what its owner re-enables later stays enabled.
update incoming_session as incoming
   set is_newly_marked = true
  from orbitpilot.session as session
 where (session.user_id, session.agent_id, session.session_id)
     = (%(user_id)s, %(agent_id)s, incoming.session_id)
   and incoming.do_not_remember
   and not session.do_not_remember
