-- The next message of a session takes the number after the last one given.
update orbitpilot.session as session
   set next_pair_index = incoming.next_pair_index
  from incoming_session as incoming
 where (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, incoming.session_id)
   and session.next_pair_index <> incoming.next_pair_index
