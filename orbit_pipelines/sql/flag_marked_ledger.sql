-- A new mark reaches messages that are deleted as well, for the day one of them returns.
update memory.pair as pair
   set not_remembered = true
  from incoming_session as session
 where (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
   and session.is_newly_marked
   and pair.deleted_at is not null
   and pair.not_remembered is distinct from true
