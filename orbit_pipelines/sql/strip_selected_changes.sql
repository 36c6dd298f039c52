-- A change keeps its ids, so that lineage still replays, and loses the hash of its text.
with {{selection}}, {{selected_changes}}
update memory.change as change
   set content_hash = null
  from changes
 where (change.user_id, change.agent_id, change.source_key, change.source_id, change.build_id, change.chunk_index,
        change.action, change.changed_at)
     = (%(user_id)s, changes.agent_id, changes.source_key, changes.source_id, changes.build_id, changes.chunk_index,
        changes.action, changes.changed_at)
