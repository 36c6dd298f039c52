-- The changes of a selection that still have the hash of their text.
changes as (
    select change.agent_id, change.source_key, change.source_id, change.build_id, change.chunk_index, change.action,
           change.changed_at
      from sessions
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key)
         = (%(user_id)s, sessions.agent_id, 'orbitpilot.chat_history')
       and change.source_id >= sessions.session_id || ':' and change.source_id < sessions.session_id || ';'
     -- Session ids may hold colons too: what stands before the last one is the session's.
     where left(change.source_id, -position(':' in reverse(change.source_id))) = sessions.session_id
       and change.content_hash is not null
    union all
    select change.agent_id, change.source_key, change.source_id, change.build_id, change.chunk_index, change.action,
           change.changed_at
      from records
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key, change.source_id)
         = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
     where change.content_hash is not null
)
