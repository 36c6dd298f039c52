-- What the ledger remembers of deleted messages; deletions by this import are among them.
insert into former_pair (session_no, message_id, pair_index, not_remembered)
select session.session_no, pair.message_id, pair.pair_index, coalesce(pair.not_remembered, false)
  from incoming_session as session
  join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
 where pair.deleted_at is not null
