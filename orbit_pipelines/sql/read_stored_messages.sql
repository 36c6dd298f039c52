-- What is stored of the batch's sessions, compared with the file in the one pass that reads the texts. An id that was
-- a question and is now a reply, or the reverse, is another message. A reply of which the file has only the beginning,
-- and says so or can't, keeps its text. A message that is named by its place and meets another text there, or one off
-- the branch, is misplaced. The lateral query reads session by session,
-- whatever the planner believes: the rest of a long history is none of its business.
with read as (
    insert into stored_message (session_no, session_id, message_id, parent_id, role, position, is_active, pair_index,
                                run_index, answers, not_remembered, is_edited, is_reworded, is_beginning,
                                is_misplaced, is_returning, is_another, is_left_behind)
    select session.session_no, session.session_id, message.message_id, message.parent_id, message.role,
           message.position, message.is_active, message.pair_index, message.run_index, message.answers,
           message.not_remembered,
           incoming.place is not null
               and ((message.author, message.sent_at, message.parent_id)
                    is distinct from
                    (coalesce(incoming.author, message.author), coalesce(incoming.sent_at, message.sent_at),
                     coalesce(incoming.parent_id, message.parent_id))
                    or ((message.content, message.is_partial) is distinct from (incoming.content, incoming.is_partial)
                        and not told.is_beginning)),
           coalesce(message.role = 'user' and message.content <> incoming.content, false),
           told.is_beginning,
           coalesce(incoming.is_placed
                    and (message.content <> incoming.content or message.role <> incoming.role
                         or not message.is_active), false),
           incoming.place is not null and not message.is_active,
           coalesce(incoming.role <> message.role, false),
           gone.message_id is not null
      from incoming_session as session
     cross join lateral (select *
                           from orbitpilot.message
                          where (user_id, agent_id, session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
                         offset 0) as message
      left join incoming_message as incoming
        on (incoming.session_no, incoming.message_id) = (session.session_no, message.message_id)
     cross join lateral (select coalesce(incoming.role = 'assistant' and message.role = 'assistant'
                                         and starts_with(message.content, incoming.content)
                                         and (incoming.is_partial
                                              or incoming.is_placed and message.content <> incoming.content), false)
                                as is_beginning) as told
      left join incoming_left_behind as gone
        on (gone.session_no, gone.message_id) = (session.session_no, message.message_id)
     where not session.is_new
       and session.is_aligned = %(is_aligned)s
    returning 1
)
select count(*) from read
