-- A person's blinks, or the one of that id.
select agent_id, source_id, title, content, is_excluded, origin_session_id, origin_message_id, recorded_at
  from orbitpilot.record
 where user_id = %(user_id)s
   and source_key = 'blink.blinks'
   and (%(agent_id)s::text is null or agent_id = %(agent_id)s)
   and (%(blink_id)s::text is null or source_id = %(blink_id)s)
 order by recorded_at desc, agent_id, source_id
