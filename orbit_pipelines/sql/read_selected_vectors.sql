-- What memory holds of a selection, read before it goes: by this the same is recognised wherever else it may be.
select chunk.content, chunk.content_hash, halfvec_send(chunk.embedding), pg_column_compression(chunk.content)
  from memory.chunk as chunk
 where chunk.user_id = %(user_id)s and chunk.agent_id = any(%(agents)s)
   and (%(is_account)s
     or (chunk.agent_id, chunk.session_id)
        in (select * from unnest(%(session_agents)s::text[], %(session_ids)s::text[]))
     or (chunk.agent_id, chunk.source_key, chunk.source_id)
        in (select * from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])))
