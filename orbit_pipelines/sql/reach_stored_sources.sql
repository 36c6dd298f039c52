-- Whatever memory holds of whole people and whole sessions, staged or not: a leftover must be seen.
insert into checked_source (user_id, agent_id, source_key, source_id)
select user_id, agent_id, source_key, source_id
  from checked_user join memory.chunk using (user_id)
union
select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
  from checked_session as session
  join memory.chunk as chunk
    on (chunk.user_id, chunk.agent_id, chunk.source_key)
     = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
   and chunk.source_id >= session.session_id || ':' and chunk.source_id < session.session_id || ';'
    on conflict do nothing
