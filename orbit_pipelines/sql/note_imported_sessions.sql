-- A session that comes in several pieces is new if one piece was, changed if any changed it.
insert into imported_session as known (session_id, is_new, is_changed)
select session.session_id, incoming.is_new, incoming.is_changed
  from incoming_session as incoming
  join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, incoming.session_id)
    on conflict (session_id) do update set is_changed = known.is_changed or excluded.is_changed
