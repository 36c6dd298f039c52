-- What the sessions' own rows say, now that they are locked. A do-not-remember mark counts once, when it is first seen:
-- what its owner re-enables later stays enabled.
with read as (
    update incoming_session as incoming
       set next_pair_index = session.next_pair_index,
           is_marked = session.do_not_remember or incoming.do_not_remember,
           is_newly_marked = incoming.do_not_remember and not session.do_not_remember
      from orbitpilot.session as session
     where (session.user_id, session.agent_id, session.session_id)
         = (%(user_id)s, %(agent_id)s, incoming.session_id)
    returning incoming.is_newly_marked
)
select count(*) filter (where is_newly_marked) from read
