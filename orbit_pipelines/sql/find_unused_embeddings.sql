-- Vectors of the stores that lost something for good which no live chunk has; analysed, for the statement that follows.
insert into unused_text (user_id, agent_id, model, content_hash)
select cached.user_id, cached.agent_id, cached.model, cached.content_hash
  from unnest(%(user_id)s::text[], %(agent_id)s::text[]) as bereft (user_id, agent_id)
  join memory.embedding_cache as cached using (user_id, agent_id)
 where not exists (select from memory.chunk as live
                    where (live.user_id, live.agent_id, live.content_hash)
                        = (cached.user_id, cached.agent_id, cached.content_hash))
