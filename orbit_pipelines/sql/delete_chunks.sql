-- Rows the new extraction no longer has: gone from the source, excluded, unassigned, forgotten, or of another text.
delete from memory.chunk as stored
 using unnest(%(user_id)s::text[], %(agent_id)s::text[], %(source_key)s::text[], %(source_id)s::text[],
              %(chunk_index)s::int[]) as doomed (user_id, agent_id, source_key, source_id, chunk_index)
 where (stored.user_id, stored.agent_id, stored.source_key, stored.source_id, stored.chunk_index)
     = (doomed.user_id, doomed.agent_id, doomed.source_key, doomed.source_id, doomed.chunk_index)
