-- A person's forgotten sessions by date, with the title where the session is still there to read.
select tombstone.agent_id, tombstone.session_id, session.title, tombstone.forgotten_at
  from memory.tombstone as tombstone
  left join orbitpilot.session as session using (user_id, agent_id, session_id)
 where tombstone.user_id = %(user_id)s
 order by tombstone.forgotten_at desc, tombstone.agent_id, tombstone.session_id
