-- New numbers enter the ledger; a deleted message that came back is no longer gone and speaks for itself again.
insert into memory.pair as pair (user_id, agent_id, session_id, pair_index, message_id)
select %(user_id)s, %(agent_id)s, session_id, pair_index, message_id
  from merged_branch
 where role = 'user' and not is_known
 order by session_no, pair_index
    on conflict (user_id, agent_id, session_id, message_id) do update
   set deleted_at = null, not_remembered = null, run_index = null, was_active = null
