-- The texts of selected sessions and records, in the history and in memory, to look for them in files.
with {{selection}}, {{selected_chunks}}
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
