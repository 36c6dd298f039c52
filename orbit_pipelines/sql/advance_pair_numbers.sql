-- The next message of a session takes the number after the last one given.
update orbitpilot.session as session
   set next_pair_index = given.last + 1
  from (select session_id, max(pair_index) as last
          from merged_branch
         where is_numbered_anew
         group by session_id) as given
 where (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, given.session_id)
