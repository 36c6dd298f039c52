-- A session that comes in several pieces is new if one piece was, grown or edited if any made it so.
insert into imported_session as known (session_id, is_new, is_edited, is_grown)
select session.session_id, incoming.is_new, incoming.is_edited, incoming.is_grown
  from incoming_session as incoming
  join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, incoming.session_id)
    on conflict (session_id) do update
   set is_edited = known.is_edited or excluded.is_edited,
       is_grown = known.is_grown or excluded.is_grown
