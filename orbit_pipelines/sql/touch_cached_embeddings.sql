-- The days of an unreferenced vector count from when its last chunk left.
update memory.embedding_cache as cached
   set used_at = now()
  from left_text as gone
 where (cached.user_id, cached.agent_id, cached.content_hash) = (gone.user_id, gone.agent_id, gone.content_hash)
