-- As cache_embeddings, for a build that was asked to compute every vector again.
insert into memory.embedding_cache as cached (user_id, agent_id, model, content_hash, embedding)
select fresh.user_id, fresh.agent_id, %(model)s, fresh.content_hash, fresh.embedding
  from fresh_embedding as fresh
  join memory.store as store
    on (store.user_id, store.agent_id, store.forget_revision)
     = (fresh.user_id, fresh.agent_id, fresh.forget_revision)
 order by fresh.user_id, fresh.agent_id, fresh.content_hash
   for share of store
    on conflict (user_id, agent_id, model, content_hash)
    do update set embedding = excluded.embedding, used_at = now()
