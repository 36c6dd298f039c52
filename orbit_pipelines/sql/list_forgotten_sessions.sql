-- A person's forgotten sessions by date, and whether each is still there to read.
select tombstone.agent_id, tombstone.session_id, session.title, session.session_id is not null as is_there,
       tombstone.forgotten_at
  from memory.tombstone as tombstone
  left join orbitpilot.session as session using (user_id, agent_id, session_id)
 where tombstone.user_id = %(user_id)s
 order by tombstone.forgotten_at desc, tombstone.agent_id, tombstone.session_id
