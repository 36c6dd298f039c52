-- What memory holds of a selection, read before it goes: by this the same is recognised wherever else it may be.
with {{selection}}, {{selected_chunks}}
select chunk.content, chunk.content_hash, halfvec_send(chunk.embedding), pg_column_compression(chunk.content)
  from reached join memory.chunk as chunk on chunk.ctid = reached.place
