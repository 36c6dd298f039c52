-- What isn't stored yet, with the numbers the merge gave it.
with inserted as (
    insert into orbitpilot.message (user_id, agent_id, session_id, message_id, parent_id, position, role, author,
                                    content, sent_at, is_partial, not_remembered, pair_index, answers, run_index)
    select %(user_id)s, %(agent_id)s, branch.session_id, branch.message_id, incoming.parent_id, branch.position,
           branch.role, incoming.author, incoming.content, incoming.sent_at, incoming.is_partial,
           branch.not_remembered, branch.pair_index, branch.answers, branch.run_index
      from merged_branch as branch
      join incoming_message as incoming using (session_id, message_id)
     where not branch.is_known
     order by branch.session_id, branch.position
    returning session_id, not_remembered
), touched as (
    update incoming_session as incoming
       set is_changed = true
     where incoming.session_id in (select session_id from inserted)
)
select count(*), count(*) filter (where not_remembered) from inserted
