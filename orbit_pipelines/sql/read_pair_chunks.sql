-- A pair's chunks in memory under each of its names, told by its place among them, and whether each carries a given reply.
select called.place::int - 1 as place, build.started_at, build.published_at, false as is_ending,
       chunk.chunk_index, encode(chunk.content_hash, 'hex') as content_hash, chunk.build_id,
       %(message)s = any(chunk.reply_message_ids) as carries_message
  from unnest(%(users)s::text[], %(agents)s::text[], %(source_ids)s::text[])
       with ordinality as called (user_id, agent_id, source_id, place)
  join memory.chunk as chunk
    on (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
     = (called.user_id, called.agent_id, %(source)s, called.source_id)
  join memory.build as build on build.build_id = chunk.build_id
 order by called.place, chunk.chunk_index
