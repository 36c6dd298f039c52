-- What known questions say now, in the ledger's hash: it is for the day one of them is deleted and comes back.
update memory.pair as pair
   set text_hash = incoming.text_hash
  from merged_branch as branch
  join incoming_message as incoming using (session_no, message_id)
 where (pair.user_id, pair.agent_id, pair.session_id, pair.pair_index)
     = (%(user_id)s, %(agent_id)s, branch.session_id, branch.pair_index)
   and branch.role = 'user' and branch.is_known and branch.is_edited
   and pair.text_hash is distinct from incoming.text_hash
   and not exists (select from memory.tombstone as tombstone
                    where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        = (%(user_id)s, %(agent_id)s, branch.session_id))
