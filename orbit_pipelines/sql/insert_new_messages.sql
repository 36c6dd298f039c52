-- What isn't stored yet, with the numbers the merge gave it.
with touched as (
    update incoming_session as incoming
       set is_grown = true,
           next_pair_index = coalesce(fresh.last + 1, incoming.next_pair_index)
      from (select session_no, max(pair_index) filter (where is_numbered_anew) as last
              from merged_branch
             where not is_known
             group by session_no) as fresh
     where fresh.session_no = incoming.session_no
)
insert into orbitpilot.message (user_id, agent_id, session_id, message_id, parent_id, position, role, author, content,
                                sent_at, is_partial, not_remembered, pair_index, answers, run_index)
select %(user_id)s, %(agent_id)s, branch.session_id, branch.message_id, incoming.parent_id, branch.position,
       branch.role, incoming.author, incoming.content, incoming.sent_at, incoming.is_partial, branch.not_remembered,
       branch.pair_index, branch.answers, branch.run_index
  from merged_branch as branch
  join incoming_message as incoming using (session_no, message_id)
 where not branch.is_known
 order by branch.session_no, branch.position
