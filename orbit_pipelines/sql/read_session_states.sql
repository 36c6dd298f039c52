-- What sessions and their messages say, in short, so that two moments can be compared; positions by the order they make.
select session.session_id,
       md5(row(session.title, session.channel, session.chat_type, session.session_kind, session.hook_source,
               session.started_at, session.do_not_remember, session.next_pair_index)::text
           || coalesce((select string_agg(said.line, ',' order by said.message_id)
                          from (select message.message_id,
                                       md5(row(message.message_id, message.parent_id, message.is_active, message.role,
                                               message.author, message.content, message.sent_at, message.is_partial,
                                               message.not_remembered, message.pair_index, message.answers,
                                               message.run_index,
                                               case when message.is_active
                                                    then row_number() over (partition by message.is_active
                                                                            order by message.position)
                                               end)::text) as line
                                  from orbitpilot.message as message
                                 where (message.user_id, message.agent_id, message.session_id)
                                     = (session.user_id, session.agent_id, session.session_id)) as said), ''))
  from orbitpilot.session as session
 where (session.user_id, session.agent_id) = (%(user_id)s, %(agent_id)s)
   and session.session_id = any (%(session_ids)s::text[])
