-- A person's messages that are not to be remembered, with what is needed to find each again; the newest first.
select message.handle::text, message.agent_id, message.session_id, message.message_id, session.title,
       message.content as beginning, message.sent_at, message.is_active,
       coalesce(not pg_visible_in_snapshot(message.flag_xid, %(recheck_snapshot)s::pg_snapshot), true) as is_flag_new
  from orbitpilot.message as message
  join orbitpilot.session as session using (user_id, agent_id, session_id)
 where message.user_id = %(user_id)s and message.not_remembered and message.role = 'user'
 order by message.sent_at desc nulls last, message.agent_id, message.session_id, message.position desc
