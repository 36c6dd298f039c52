-- No row without the session, a null role without the message: the error says which.
select message.role
  from orbitpilot.session as session
  left join orbitpilot.message as message
    on (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (session.user_id, session.agent_id, session.session_id, %(message_id)s)
 where (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
