-- Cached vectors of forgotten texts, unless something that isn't forgotten says the same: a live chunk, or one that was,
-- for forgotten rows of lineage have no hash.
select distinct cached.user_id, cached.agent_id, asked.session_id
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(session_id)s::text[], %(content_hash)s::bytea[])
       as asked (user_id, agent_id, session_id, content_hash)
  join memory.embedding_cache as cached using (user_id, agent_id, content_hash)
 where not exists (select from memory.chunk as chunk
                    where (chunk.user_id, chunk.agent_id, chunk.content_hash)
                        = (asked.user_id, asked.agent_id, asked.content_hash)
                      and chunk.session_id is distinct from asked.session_id)
   and not exists (select from memory.change as change
                    where (change.user_id, change.agent_id, change.content_hash)
                        = (asked.user_id, asked.agent_id, asked.content_hash)
                      and left(change.source_id, -position(':' in reverse(change.source_id)))
                          is distinct from asked.session_id)
