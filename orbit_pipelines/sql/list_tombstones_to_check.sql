-- Sessions whose texts the cache may not know: forgotten before the build began that covers their person.
select tombstone.user_id, tombstone.agent_id, tombstone.session_id
  from covering_build as cover
  join memory.tombstone as tombstone using (user_id)
 where pg_visible_in_snapshot(tombstone.changed_xid, cover.snapshot)
   and exists (select from memory.embedding_cache as cached
                where (cached.user_id, cached.agent_id) = (tombstone.user_id, tombstone.agent_id))
 order by 1, 2, 3
