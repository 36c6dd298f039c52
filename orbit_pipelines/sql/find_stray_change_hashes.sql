-- Changes that claim a forgotten hash for a chunk that is there with another one, though no later change says so.
select held.agent_id, held.source_key, held.source_id, held.chunk_index
  from memory.change as held
  join memory.chunk as kept
    on (kept.user_id, kept.agent_id, kept.source_key, kept.source_id, kept.chunk_index)
     = (held.user_id, held.agent_id, held.source_key, held.source_id, held.chunk_index)
 where held.user_id = %(user_id)s and held.content_hash = any(%(hashes)s) and held.action <> 'removed'
   and kept.content_hash <> held.content_hash
   and not exists (select from memory.change as later
                    where (later.user_id, later.agent_id, later.source_key, later.source_id, later.chunk_index)
                        = (held.user_id, held.agent_id, held.source_key, held.source_id, held.chunk_index)
                      and (later.changed_at, later.build_id) > (held.changed_at, held.build_id))
