-- Where the chunks lie that selected sessions left, records taken from them included; of an account all.
reached as (
    select chunk.ctid as place
      from sessions
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.session_id)
         = (%(user_id)s, sessions.agent_id, 'orbitpilot.chat_history', sessions.session_id)
       and chunk.source_id >= sessions.session_id || ':' and chunk.source_id < sessions.session_id || ';'
    union
    select chunk.ctid
      from sessions
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.session_id) = (%(user_id)s, sessions.agent_id, sessions.session_id)
     where chunk.source_key <> 'orbitpilot.chat_history'
       -- What its owner took back after the forget stays.
       and not exists (select from memory.forgotten_record as known
                        where (known.user_id, known.agent_id, known.source_key, known.source_id)
                            = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                          and known.taken_back_at is not null)
    union
    select chunk.ctid
      from records
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
         = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
    union
    select chunk.ctid from memory.chunk as chunk where %(is_account)s and chunk.user_id = %(user_id)s
)
