-- As cache_embeddings, for a build that was asked to compute every vector again.
insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)
select user_id, agent_id, model, content_hash, embedding
  from fresh_embedding
 order by user_id, agent_id, model, content_hash
    on conflict (user_id, agent_id, model, content_hash)
    do update set embedding = excluded.embedding, used_at = now()
