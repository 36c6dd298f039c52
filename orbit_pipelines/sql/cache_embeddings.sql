-- Only under the revision seen at extraction, with the store's row held: a forget comes wholly before or wholly after.
insert into memory.embedding_cache (user_id, agent_id, model, content_hash, embedding)
select fresh.user_id, fresh.agent_id, %(model)s, fresh.content_hash, fresh.embedding
  from fresh_embedding as fresh
  join memory.store as store
    on (store.user_id, store.agent_id, store.forget_revision)
     = (fresh.user_id, fresh.agent_id, fresh.forget_revision)
 order by fresh.user_id, fresh.agent_id, fresh.content_hash
   for share of store
    on conflict do nothing
