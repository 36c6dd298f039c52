-- Every tombstone there is. Why, in somebody's words, is not told.
select user_id, agent_id, session_id, forgotten_at
  from memory.tombstone
 order by user_id, agent_id, session_id
