-- The branch of each session, in order, with the numbers its new messages get. The file's order rules what the file
-- holds; a stored active message it lacks stays behind whatever it followed. A new message's run and what a reply
-- answers go by the file's own chain, and by what is stored before it where the file starts later; but no run goes
-- past a reply.
with flagged_sibling as (
    -- Under the parent that the file tells, if it does: what was put in between is no sibling.
    select distinct session_no, coalesce(incoming.parent_id, stored.parent_id, '') as parent_id
      from stored_message as stored
      left join incoming_message as incoming using (session_no, message_id)
     where stored.role = 'user' and stored.not_remembered
), told as (
    select incoming.session_no, incoming.message_id, incoming.role, incoming.place,
           flagged_sibling.session_no is not null as has_flagged_sibling
      from incoming_message as incoming
      left join flagged_sibling
        on (flagged_sibling.session_no, flagged_sibling.parent_id)
         = (incoming.session_no, coalesce(incoming.parent_id, ''))
), met as (
    select session_no, message_id, coalesce(incoming.role, stored.role) as role, incoming.place,
           incoming.has_flagged_sibling,
           stored.role is not null as is_known,
           coalesce(stored.is_edited, false) as is_edited,
           coalesce(stored.is_beginning, false) as is_beginning,
           coalesce(stored.is_active, false) as was_active,
           coalesce(stored.is_left_behind, false) as is_left_behind,
           case when stored.is_active then stored.position end as was_at,
           stored.pair_index, stored.run_index,
           max(incoming.place) filter (where stored.is_active)
               over (partition by session_no order by stored.position, message_id) as after_place
      from stored_message as stored
      full join told as incoming using (session_no, message_id)
), branch as (
    select met.*,
           (row_number() over (partition by session_no
                               order by coalesce(place, after_place, -1), place is null, was_at, message_id))::int - 1
               as index
      from met
     where place is not null or (was_active and not is_left_behind)
), named as (
    select branch.*, session.next_pair_index, session.is_marked, session.is_newly_marked,
           former.pair_index as former_index, former.not_remembered as last_flag,
           branch.role = 'user' and not branch.is_known and former.pair_index is null as is_numbered_anew
      from branch
      join incoming_session as session using (session_no)
      left join former_pair as former
        on (former.session_no, former.message_id) = (branch.session_no, branch.message_id)
       and branch.role = 'user' and not branch.is_known
), numbered as (
    select named.*,
           case when role = 'user'
                then coalesce(pair_index, former_index,
                              next_pair_index - 1
                              + (count(*) filter (where is_numbered_anew)
                                     over (partition by session_no order by index))::int)
           end as number,
           role in ('user', 'assistant') and (place is not null or after_place is null) as is_in_chain,
           count(*) filter (where role = 'assistant') over (partition by session_no order by index) as replies_before
      from named
), split as (
    -- A reply between two known members of a run: those after it are a run of their own.
    select numbered.*,
           case when role = 'user' and is_known
                then case when replies_before > min(replies_before) over (partition by session_no, run_index)
                          then first_value(number)
                                   over (partition by session_no, run_index, replies_before order by index)
                          else run_index end
           end as kept_run,
           count(*) filter (where role = 'user') over (partition by session_no, is_in_chain order by index)
               as chain_questions
      from numbered
), strung as (
    select split.*,
           count(kept_run) over (partition by session_no, is_in_chain, replies_before order by index) as chain_known
      from split
), run as (
    select strung.*,
           coalesce(kept_run,
                    first_value(coalesce(kept_run, number))
                        over (partition by session_no, is_in_chain, role, replies_before, chain_known order by index))
               as its_run,
           first_value(number) over (partition by session_no, is_in_chain, chain_questions order by index)
               as its_question,
           -- The old position wherever that keeps the order; else the least that does.
           index + max(greatest(was_at - index, 0)) over (partition by session_no order by index) as its_position
      from strung
), merged as (
    insert into merged_branch (session_no, session_id, message_id, role, position, pair_index, run_index, answers,
                               not_remembered, is_known, is_numbered_anew, is_edited, is_beginning, is_returning,
                               is_moved)
    select run.session_no, session.session_id, run.message_id, run.role, run.its_position, run.number,
           case when run.role = 'user' then run.its_run end,
           case when run.role = 'assistant' then run.its_question end,
           run.role = 'user' and not run.is_known
               and case when run.is_newly_marked then true
                        when not run.is_numbered_anew then run.last_flag
                        else run.is_marked or run.has_flagged_sibling end,
           run.is_known, run.is_numbered_anew, run.is_edited, run.is_beginning,
           run.is_known and not run.was_active,
           run.is_known
               and (run.was_at is distinct from run.its_position
                    or (run.role = 'user' and run.run_index is distinct from run.its_run))
      from run
      join incoming_session as session using (session_no)
    returning not_remembered, is_known, is_numbered_anew, is_edited, is_returning, is_moved
)
select count(*) filter (where not is_known) as new,
       count(*) filter (where not is_known and not_remembered) as flagged,
       count(*) filter (where is_numbered_anew) as pairs,
       count(*) filter (where is_edited and not is_returning) as changed,
       count(*) filter (where is_returning) as reactivated,
       count(*) filter (where is_edited or is_returning or is_moved) as differing
  from merged
