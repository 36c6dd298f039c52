-- What another build cached meanwhile stays as it is.
insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)
select user_id, agent_id, model, content_hash, embedding
  from fresh_embedding
 order by user_id, agent_id, model, content_hash
    on conflict do nothing
