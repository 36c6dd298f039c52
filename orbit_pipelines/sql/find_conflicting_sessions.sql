-- Known sessions of which the file says otherwise than what is stored, growth aside: that may be said otherwise again
-- further on in the same file, and only what it says last counts.
select incoming.session_no
  from incoming_session as incoming
  join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, incoming.session_id)
 where not incoming.is_new
   and (session.title, session.channel, session.chat_type, session.session_kind, session.hook_source,
        session.started_at)
       is distinct from
       (coalesce(incoming.title, session.title), coalesce(incoming.channel, session.channel),
        coalesce(incoming.chat_type, session.chat_type), coalesce(incoming.session_kind, session.session_kind),
        coalesce(incoming.hook_source, session.hook_source), coalesce(incoming.started_at, session.started_at))
union
select session_no
  from stored_message
 where is_edited or is_another or is_returning or (is_left_behind and is_active)
union
select session_no from merged_branch where is_moved
 order by session_no
