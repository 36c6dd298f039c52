-- What the ledger remembers of deleted messages, for those that return.
insert into former_pair (session_no, message_id, pair_index, not_remembered, text_hash)
select session.session_no, pair.message_id, pair.pair_index, coalesce(pair.not_remembered, false), pair.text_hash
  from incoming_session as session
  join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
 where pair.deleted_at is not null
