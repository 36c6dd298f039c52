-- What the file says otherwise of known sessions; what it doesn't say stays known.
with updated as (
    update orbitpilot.session as session
       set title = coalesce(incoming.title, session.title),
           channel = coalesce(incoming.channel, session.channel),
           chat_type = coalesce(incoming.chat_type, session.chat_type),
           session_kind = coalesce(incoming.session_kind, session.session_kind),
           hook_source = coalesce(incoming.hook_source, session.hook_source),
           started_at = coalesce(incoming.started_at, session.started_at),
           do_not_remember = session.do_not_remember or incoming.do_not_remember
      from incoming_session as incoming
     where (session.user_id, session.agent_id, session.session_id)
         = (%(user_id)s, %(agent_id)s, incoming.session_id)
       and (session.title, session.channel, session.chat_type, session.session_kind, session.hook_source,
            session.started_at, session.do_not_remember)
           is distinct from
           (coalesce(incoming.title, session.title), coalesce(incoming.channel, session.channel),
            coalesce(incoming.chat_type, session.chat_type),
            coalesce(incoming.session_kind, session.session_kind),
            coalesce(incoming.hook_source, session.hook_source),
            coalesce(incoming.started_at, session.started_at),
            session.do_not_remember or incoming.do_not_remember)
    returning session.session_id
)
update incoming_session as incoming
   set is_edited = true
  from updated
 where updated.session_id = incoming.session_id
