-- A person's blinks, or the one of that id; the handle leads back to where in its conversation a blink was caught.
select record.agent_id, record.source_id, record.title, record.content, record.is_excluded, record.origin_session_id,
       record.origin_message_id, origin.handle::text as origin_handle, record.recorded_at
  from orbitpilot.record as record
  left join orbitpilot.message as origin
    on (origin.user_id, origin.agent_id, origin.session_id, origin.message_id)
     = (record.user_id, record.agent_id, record.origin_session_id, record.origin_message_id)
   and origin.is_active
 where record.user_id = %(user_id)s
   and record.source_key = 'blink.blinks'
   and (%(agent_id)s::text is null or record.agent_id = %(agent_id)s)
   and (%(blink_id)s::text is null or record.source_id = %(blink_id)s)
 order by record.recorded_at desc, record.agent_id, record.source_id
