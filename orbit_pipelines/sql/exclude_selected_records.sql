-- A record has no tombstone: its own flag keeps it out, until its owner takes it back.
update orbitpilot.record as record
   set is_excluded = true
  from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
       as selected (agent_id, source_key, source_id)
 where (record.user_id, record.agent_id, record.source_key, record.source_id)
     = (%(user_id)s, selected.agent_id, selected.source_key, selected.source_id)
   and not record.is_excluded
