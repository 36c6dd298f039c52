-- The chunks that selected sessions left, records taken from them included; of an account all.
with {{selection}}, {{selected_chunks}}
select chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index, encode(chunk.content_hash, 'hex')
  from reached
  join memory.chunk as chunk on chunk.ctid = reached.place
 order by 1, 2, 3, 4
