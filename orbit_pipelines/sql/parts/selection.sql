-- The sessions and records of a selection, by its parameters.
sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
), records as (
    select agent_id, source_key, source_id
      from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
           as records (agent_id, source_key, source_id)
)
