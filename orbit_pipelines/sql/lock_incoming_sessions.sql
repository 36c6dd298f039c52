-- Whoever appends to one of these sessions waits, so that numbers are given one at a time; in key order.
select count(*)
  from (select session_id
          from orbitpilot.session
         where (user_id, agent_id) = (%(user_id)s, %(agent_id)s)
           and session_id in (select session_id from incoming_session)
         order by session_id
           for update) as locked
