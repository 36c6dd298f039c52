-- A session's active branch as a page shows it and a responder is given it, with what was caught from each reply.
select message.message_id, message.handle::text, message.role, message.content, message.sent_at, message.is_partial,
       message.not_remembered, blink.source_id as blink_id, blink.is_excluded as is_blink_excluded,
       blink.is_from_forgotten as is_blink_from_forgotten
  from orbitpilot.message as message
  left join lateral (select record.source_id, record.is_excluded,
                            exists (select from memory.tombstone as tombstone
                                     where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                                         = (record.user_id, record.agent_id, record.origin_session_id))
                                as is_from_forgotten
                       from orbitpilot.record as record
                      where (record.user_id, record.agent_id, record.origin_session_id)
                          = (message.user_id, message.agent_id, message.session_id)
                        and record.origin_message_id = message.message_id
                        and record.source_key = 'blink.blinks'
                        and message.role = 'assistant'
                      order by record.recorded_at, record.source_id
                      limit 1) as blink on true
 where (message.user_id, message.agent_id, message.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
   and message.is_active
   and message.role in ('user', 'assistant')
 order by message.position
