-- The sources of the selection whose changes still have hashes, with how many.
with sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
), records as (
    select agent_id, source_key, source_id
      from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
           as records (agent_id, source_key, source_id)
), sources as (
    select change.agent_id, change.source_key, change.source_id, change.build_id, change.chunk_index, change.action,
           change.changed_at
      from sessions
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key)
         = (%(user_id)s, sessions.agent_id, 'orbitpilot.chat_history')
       and change.source_id >= sessions.session_id || ':' and change.source_id < sessions.session_id || ';'
     -- Session ids may hold colons too: what stands before the last one is the session's.
     where left(change.source_id, -position(':' in reverse(change.source_id))) = sessions.session_id
       and change.content_hash is not null
    union all
    select change.agent_id, change.source_key, change.source_id, change.build_id, change.chunk_index, change.action,
           change.changed_at
      from records
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key, change.source_id)
         = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
     where change.content_hash is not null
)
select agent_id, source_key, source_id, count(*) from sources group by 1, 2, 3 order by 1, 2, 3
