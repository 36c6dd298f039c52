-- What another build cached meanwhile stays as it is, unless its length shows that another model made it.
insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)
select user_id, agent_id, model, content_hash, embedding
  from fresh_embedding
 order by user_id, agent_id, model, content_hash
    on conflict (user_id, agent_id, model, content_hash)
    do update set embedding = excluded.embedding, used_at = now()
 where vector_dims(embedding_cache.embedding) <> vector_dims(excluded.embedding)
