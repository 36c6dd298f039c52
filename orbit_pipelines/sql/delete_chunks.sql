-- Rows the new extraction no longer has: gone from the source, excluded, unassigned, forgotten, or of another text.
delete from memory.chunk as stored
 using doomed_chunk as doomed
 where (stored.user_id, stored.agent_id, stored.source_key, stored.source_id, stored.chunk_index)
     = (doomed.user_id, doomed.agent_id, doomed.source_key, doomed.source_id, doomed.chunk_index)
