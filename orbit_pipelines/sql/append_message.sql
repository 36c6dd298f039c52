-- One message at the end of the branch: number, run and what it answers by the same rules as merge_branches. The
-- session's row is locked. A reply that comes late says which pair it answers, whatever was asked since.
with session as (
    select *
      from orbitpilot.session
     where (user_id, agent_id, session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
), branch as (
    select *
      from orbitpilot.message
     where (user_id, agent_id, session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
       and is_active
), turn as (
    select message_id, role, run_index
      from branch
     where role in ('user', 'assistant')
     order by position desc
     limit 1
), question as (
    select pair_index
      from branch
     where role = 'user'
     order by position desc
     limit 1
), appended as (
    insert into orbitpilot.message (user_id, agent_id, session_id, message_id, parent_id, position, role, author,
                                    content, sent_at, is_partial, not_remembered, pair_index, answers, run_index)
    select session.user_id, session.agent_id, session.session_id, %(message_id)s, turn.message_id,
           (select coalesce(max(position) + 1, 0) from branch), asked.role, %(author)s, %(content)s,
           coalesce(%(sent_at)s::timestamptz, now()), %(is_partial)s,
           asked.role = 'user'
               and (session.do_not_remember
                    or exists (select
                                 from orbitpilot.message as sibling
                                where (sibling.user_id, sibling.agent_id, sibling.session_id)
                                    = (session.user_id, session.agent_id, session.session_id)
                                  and sibling.role = 'user'
                                  and sibling.not_remembered
                                  and sibling.parent_id is not distinct from turn.message_id)),
           case when asked.role = 'user' then session.next_pair_index end,
           case when asked.role = 'assistant' then coalesce(%(answers)s::int, question.pair_index) end,
           case when asked.role = 'user' and turn.role = 'user' then turn.run_index
                when asked.role = 'user' then session.next_pair_index end
      from session
      cross join (select %(role)s::text as role) as asked
      left join turn on true
      left join question on true
    returning user_id, agent_id, session_id, message_id, handle, pair_index, not_remembered
), entered as (
    insert into memory.pair (user_id, agent_id, session_id, pair_index, message_id)
    select user_id, agent_id, session_id, pair_index, message_id
      from appended
     where pair_index is not null
), advanced as (
    update orbitpilot.session as session
       set next_pair_index = session.next_pair_index + 1
      from appended
     where (session.user_id, session.agent_id, session.session_id)
         = (appended.user_id, appended.agent_id, appended.session_id)
       and appended.pair_index is not null
)
select message_id, handle, pair_index, not_remembered
  from appended
