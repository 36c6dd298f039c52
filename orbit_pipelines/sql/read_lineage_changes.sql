-- What builds did to chunks, in the order in which they published.
select change.build_id, build.publish_order, change.changed_at,
       change.user_id, change.agent_id, change.source_key, change.source_id, change.chunk_index,
       encode(change.content_hash, 'hex') as content_hash, change.action, change.reason
  from memory.change as change
  join memory.build as build using (build_id)
 where change.build_id = any(%(builds)s)
 order by build.publish_order
