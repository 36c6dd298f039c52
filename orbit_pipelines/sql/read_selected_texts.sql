-- The texts of selected sessions and records, in the history and in memory, to look for them in files.
with sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
), records as (
    select agent_id, source_key, source_id
      from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
           as records (agent_id, source_key, source_id)
), reached as (
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
select message.content
  from sessions
  join orbitpilot.message as message
    on (message.user_id, message.agent_id, message.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
 where message.role in ('user', 'assistant')
union
select text
  from records
  join orbitpilot.record as record
    on (record.user_id, record.agent_id, record.source_key, record.source_id)
     = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
 cross join lateral (values (record.title), (record.content)) as texts (text)
 where text is not null
union
select chunk.content from reached join memory.chunk as chunk on chunk.ctid = reached.place
