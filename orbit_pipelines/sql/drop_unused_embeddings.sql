-- A vector that no chunk has used for so many days is not kept any longer.
delete from memory.embedding_cache as cached
 where cached.used_at < now() - make_interval(days => %(days)s)
   and not exists (select from memory.chunk as live
                    where (live.user_id, live.agent_id, live.content_hash)
                        = (cached.user_id, cached.agent_id, cached.content_hash))
