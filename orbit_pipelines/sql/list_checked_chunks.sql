-- The stored chunks within reach, as a publish compares them, and their texts to hash again.
select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index, chunk.content_hash,
       recipe.model, chunk.session_id, chunk.message_id, chunk.reply_message_ids, chunk.spans::text,
       chunk.origin_class, chunk.session_kind, chunk.sent_at, chunk.recipe, chunk.content
  from checked_chunk as chunk
  left join memory.recipe as recipe on recipe.recipe = chunk.recipe
 order by chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index
