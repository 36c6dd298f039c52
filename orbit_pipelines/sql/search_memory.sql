-- The nearest chunks of one store. Tombstones are asked here, so that what is forgotten is out of reach at once, and what
-- its owner took back afterwards is not. A record that is only excluded leaves with the next build. Vectors of another
-- length can't be compared; "coalesce", because the planner takes a bare comparison for one that few rows pass.
select chunk.source_key, chunk.source_id, chunk.chunk_index, chunk.session_id, chunk.content, chunk.spans,
       chunk.origin_class, chunk.sent_at, chunk.build_id, 1 - (chunk.embedding <=> %(query)s::halfvec) as similarity
  from memory.chunk as chunk
 where (chunk.user_id, chunk.agent_id) = (%(user_id)s, %(agent_id)s)
   and chunk.recipe = any (array(select recipe.recipe from memory.recipe as recipe where recipe.model = %(model)s))
   and coalesce(vector_dims(chunk.embedding) = vector_dims(%(query)s::halfvec), false)
   and (%(beside_session)s::text is null or chunk.session_id is distinct from %(beside_session)s)
   and not exists (select from memory.tombstone as tombstone
                    where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        = (chunk.user_id, chunk.agent_id, chunk.session_id)
                      and (chunk.source_key = 'orbitpilot.chat_history'
                           or not exists (select from memory.forgotten_record as known
                                           where (known.user_id, known.agent_id, known.source_key, known.source_id)
                                               = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id))))
   and not exists (select from memory.forgotten_record as known
                    where (known.user_id, known.agent_id, known.source_key, known.source_id)
                        = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                      and known.taken_back_at is null)
 order by chunk.embedding <=> %(query)s::halfvec, chunk.source_key, chunk.source_id, chunk.chunk_index
 limit %(limit)s
