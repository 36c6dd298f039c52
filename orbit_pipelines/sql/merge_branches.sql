-- The branch of each session, in order, with the numbers its new messages get. The file's order rules what the file
-- holds; a stored active message it lacks stays behind whatever it followed. A new message's run and what a reply
-- answers go by the file's own chain, and by what is stored before it where the file starts later; but no run goes
-- past a reply.
with stored as (
    select message.session_id, message.message_id, message.role, message.position, message.is_active,
           message.pair_index, message.run_index
      from incoming_session as session
      join orbitpilot.message as message
        on (message.user_id, message.agent_id, message.session_id)
         = (%(user_id)s, %(agent_id)s, session.session_id)
     where not session.is_new
), flagged_sibling as (
    select distinct message.session_id, coalesce(message.parent_id, '') as parent_id
      from incoming_session as session
      join orbitpilot.message as message
        on (message.user_id, message.agent_id, message.session_id)
         = (%(user_id)s, %(agent_id)s, session.session_id)
     where not session.is_new and message.role = 'user' and message.not_remembered
), met as (
    select session_id, message_id, coalesce(incoming.role, stored.role) as role, incoming.place, incoming.parent_id,
           stored.role is not null as is_known,
           coalesce(stored.is_active, false) as was_active,
           case when stored.is_active then stored.position end as was_at,
           stored.pair_index, stored.run_index,
           max(incoming.place) filter (where stored.is_active)
               over (partition by session_id order by stored.position, message_id) as after_place
      from stored
      full join incoming_message as incoming using (session_id, message_id)
), branch as (
    select met.*,
           (row_number() over (partition by session_id
                               order by coalesce(place, after_place, -1), place is null, was_at, message_id))::int - 1
               as index
      from met
     where place is not null
        or (was_active
            and not exists (select from incoming_left_behind as gone
                             where (gone.session_id, gone.message_id) = (met.session_id, met.message_id)))
), named as (
    select branch.*, session.next_pair_index, session.do_not_remember,
           pair.pair_index as former_index, coalesce(pair.not_remembered, false) as last_flag,
           branch.role = 'user' and not branch.is_known and pair.pair_index is null as is_numbered_anew
      from branch
      join orbitpilot.session as session
        on (session.user_id, session.agent_id, session.session_id)
         = (%(user_id)s, %(agent_id)s, branch.session_id)
      left join memory.pair as pair
        on (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
         = (%(user_id)s, %(agent_id)s, branch.session_id, branch.message_id)
       and branch.role = 'user' and not branch.is_known
), numbered as (
    select named.*,
           case when role = 'user'
                then coalesce(pair_index, former_index,
                              next_pair_index - 1
                              + (row_number() over (partition by session_id, is_numbered_anew order by index))::int)
           end as number,
           role in ('user', 'assistant') and (place is not null or after_place is null) as is_in_chain,
           count(*) filter (where role = 'assistant') over (partition by session_id order by index) as replies_before
      from named
), split as (
    -- A reply between two known members of a run: those after it are a run of their own.
    select numbered.*,
           case when role = 'user' and is_known
                then case when replies_before > min(replies_before) over (partition by session_id, run_index)
                          then first_value(number)
                                   over (partition by session_id, run_index, replies_before order by index)
                          else run_index end
           end as kept_run,
           count(*) filter (where role = 'user') over (partition by session_id, is_in_chain order by index)
               as chain_questions
      from numbered
), strung as (
    select split.*,
           count(kept_run) over (partition by session_id, is_in_chain, replies_before order by index) as chain_known
      from split
), run as (
    select strung.*,
           first_value(coalesce(kept_run, number))
               over (partition by session_id, is_in_chain, role, replies_before, chain_known order by index)
               as chain_run,
           first_value(number) over (partition by session_id, is_in_chain, chain_questions order by index)
               as chain_question
      from strung
)
insert into merged_branch (session_id, message_id, role, position, is_known, is_numbered_anew, pair_index, run_index,
                           answers, not_remembered)
select run.session_id, run.message_id, run.role,
       -- The old position wherever that keeps the order; else the least that does.
       run.index + max(greatest(run.was_at - run.index, 0)) over (partition by run.session_id order by run.index),
       run.is_known, run.is_numbered_anew, run.number,
       case when run.role = 'user' then coalesce(run.kept_run, run.chain_run) end,
       case when run.role = 'assistant' then run.chain_question end,
       run.role = 'user' and not run.is_known
           and case when session.is_newly_marked then true
                    when not run.is_numbered_anew then run.last_flag
                    else run.do_not_remember or flagged_sibling.session_id is not null end
  from run
  join incoming_session as session using (session_id)
  left join flagged_sibling
    on (flagged_sibling.session_id, flagged_sibling.parent_id) = (run.session_id, coalesce(run.parent_id, ''))
