-- The stored rows of a build of everyone; those of people left out and of quarantined sessions are not its business.
select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index, chunk.content_hash,
       recipe.model, chunk.session_id, chunk.message_id, chunk.reply_message_ids, chunk.spans::text,
       chunk.origin_class, chunk.session_kind, chunk.sent_at, chunk.recipe
  from memory.chunk as chunk
  left join memory.recipe as recipe on recipe.recipe = chunk.recipe
 where not exists (select from left_out_user as outside where outside.user_id = chunk.user_id)
   and not exists (select from frozen_source as frozen
                    where (frozen.user_id, frozen.agent_id, frozen.source_key, frozen.source_id)
                        = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id))
