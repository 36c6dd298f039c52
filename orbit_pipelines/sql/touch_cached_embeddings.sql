-- The days of an unreferenced vector count from when its last chunk left; to the day, which spares most rows.
update memory.embedding_cache as cached
   set used_at = now()
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(model)s::text[], %(content_hash)s::bytea[])
        as gone (user_id, agent_id, model, content_hash)
 where (cached.user_id, cached.agent_id, cached.model, cached.content_hash)
     = (gone.user_id, gone.agent_id, gone.model, gone.content_hash)
   and cached.used_at < now() - interval '1 day'
