-- A hit is a cache row or a live chunk of the same store, model and hash; live chunks matter once a forget emptied the cache.
-- A vector of another length is no hit, so that a build replaces one that lies there under the model's name.
-- A store that has neither, as all have in a first build, is not asked text by text.
with wanted as (
    select * from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(content_hash)s::bytea[])
        as wanted (user_id, agent_id, content_hash)
), holding as materialized (
    select store.user_id, store.agent_id
      from (select distinct user_id, agent_id from wanted) as store
     where exists (select from memory.embedding_cache as cached
                    where (cached.user_id, cached.agent_id) = (store.user_id, store.agent_id))
        or exists (select from memory.chunk as chunk
                    where (chunk.user_id, chunk.agent_id) = (store.user_id, store.agent_id))
)
select wanted.user_id, wanted.agent_id, wanted.content_hash,
       case when %(fetch)s then halfvec_send(coalesce(cached.embedding, live.embedding)) end
  from wanted
  join holding using (user_id, agent_id)
  left join memory.embedding_cache as cached
    on (cached.user_id, cached.agent_id, cached.content_hash) = (wanted.user_id, wanted.agent_id, wanted.content_hash)
   and cached.model = %(model)s
   and vector_dims(cached.embedding) = %(dimensions)s
  left join lateral (
        select chunk.embedding
          from memory.chunk as chunk
          join memory.recipe as recipe on recipe.recipe = chunk.recipe
         where cached.content_hash is null
           and (chunk.user_id, chunk.agent_id, chunk.content_hash)
             = (wanted.user_id, wanted.agent_id, wanted.content_hash)
           and recipe.model = %(model)s
           and vector_dims(chunk.embedding) = %(dimensions)s
         limit 1
       ) as live on true
 where cached.content_hash is not null or live.embedding is not null
