-- The selection's tombstones, for a receipt to tell that an earlier run may have removed what this one didn't find.
select count(*), min(tombstone.forgotten_at)
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as selected (agent_id, session_id)
  join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
     = (%(user_id)s, selected.agent_id, selected.session_id)
