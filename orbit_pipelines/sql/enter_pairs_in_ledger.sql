-- New numbers enter the ledger, with a hash of what was said unless that is forgotten; a deleted message that came back is
-- no longer gone and speaks for itself again.
insert into memory.pair as pair (user_id, agent_id, session_id, pair_index, message_id, text_hash)
select %(user_id)s, %(agent_id)s, branch.session_id, branch.pair_index, branch.message_id,
       case when tombstone.session_id is null then incoming.text_hash end
  from merged_branch as branch
  join incoming_message as incoming using (session_no, message_id)
  left join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id) = (%(user_id)s, %(agent_id)s, branch.session_id)
 where branch.role = 'user' and not branch.is_known
 order by branch.session_no, branch.pair_index
    on conflict (user_id, agent_id, session_id, message_id) do update
   set deleted_at = null, not_remembered = null, run_index = null, was_active = null, text_hash = excluded.text_hash
