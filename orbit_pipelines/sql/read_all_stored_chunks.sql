-- The stored rows of a build of everyone, a stretch of user ids at a time; those of people left out are not its business.
select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index, chunk.content_hash,
       case when vector_dims(chunk.embedding) = %(dimensions)s then recipe.model end,
       chunk.session_id, chunk.message_id, to_json(chunk.reply_message_ids)::text, chunk.spans::text,
       chunk.origin_class, chunk.session_kind, chunk.sent_at, chunk.recipe
  from memory.chunk as chunk
  left join memory.recipe as recipe on recipe.recipe = chunk.recipe
 where chunk.user_id <> all(%(left_out)s)
   and (%(after)s::text is null or chunk.user_id > %(after)s)
   and (%(until)s::text is null or chunk.user_id <= %(until)s)
