-- The tombstones of records, each with the session it was taken from, and their flag. Both hold until the owner takes the
-- record back, which a later forget of it overrules.
with selected as (
    select %(user_id)s::text as user_id, agent_id, source_key, source_id
      from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
           as selected (agent_id, source_key, source_id)
), kept as (
    insert into memory.forgotten_record as known (user_id, agent_id, source_key, source_id, origin_session_id, reason)
    select user_id, agent_id, source_key, source_id,
           coalesce(record.origin_session_id,
                    (select min(chunk.session_id) from memory.chunk as chunk
                      where (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                          = (selected.user_id, selected.agent_id, selected.source_key, selected.source_id))),
           case when %(is_account)s then 'account' end
      from selected
      left join orbitpilot.record as record using (user_id, agent_id, source_key, source_id)
     order by 1, 2, 3, 4
        on conflict (user_id, agent_id, source_key, source_id) do update
       set forgotten_at = case when known.taken_back_at is null then known.forgotten_at else now() end,
           taken_back_at = null,
           origin_session_id = coalesce(excluded.origin_session_id, known.origin_session_id),
           reason = coalesce(excluded.reason, known.reason)
     where (known.taken_back_at, known.origin_session_id, known.reason)
           is distinct from
           (null::timestamptz, coalesce(excluded.origin_session_id, known.origin_session_id),
            coalesce(excluded.reason, known.reason))
)
update orbitpilot.record as record
   set is_excluded = true
  from selected
 where (record.user_id, record.agent_id, record.source_key, record.source_id)
     = (selected.user_id, selected.agent_id, selected.source_key, selected.source_id)
   and not record.is_excluded
