-- What memory still has of forgotten sessions. What is forgotten since the build that covers its person is pending; of
-- lineage already what is forgotten since that build began, because a forget comes to it last.
with gone as (
    select tombstone.user_id, tombstone.agent_id, tombstone.session_id, tombstone.changed_xid,
           coalesce(pg_visible_in_snapshot(tombstone.changed_xid, cover.recheck_snapshot), false) as is_covered,
           coalesce(pg_visible_in_snapshot(tombstone.changed_xid, cover.snapshot), false) as is_over
      from covering_build as cover join memory.tombstone as tombstone using (user_id)
), gone_record as (
    select known.user_id, known.agent_id, known.source_key, known.source_id,
           coalesce(pg_visible_in_snapshot(known.changed_xid, cover.recheck_snapshot), false) as is_covered,
           coalesce(pg_visible_in_snapshot(known.changed_xid, cover.snapshot), false) as is_over
      from covering_build as cover join memory.forgotten_record as known using (user_id)
     where known.taken_back_at is null
), found as (
    select 'chunk' as kind, gone.is_covered, chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
      from gone
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key)
         = (gone.user_id, gone.agent_id, 'orbitpilot.chat_history')
       and chunk.source_id >= gone.session_id || ':' and chunk.source_id < gone.session_id || ';'
     where substr(chunk.source_id, length(gone.session_id) + 2) ~ '^[0-9]+$'
    union all
    select 'chunk', gone.is_covered, chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
      from gone join checked_chunk as chunk using (user_id, agent_id, session_id)
     where chunk.source_key = 'orbitpilot.chat_history'
    union all
    -- Its owner may take a caught record back in, after the forget.
    select 'record', gone.is_covered, chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
      from gone
      join memory.chunk as chunk using (user_id, agent_id, session_id)
      left join memory.forgotten_record as known using (user_id, agent_id, source_key, source_id)
     where chunk.source_key <> 'orbitpilot.chat_history' and known.taken_back_at is null
    union all
    select 'record', gone_record.is_covered, chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
      from gone_record join memory.chunk as chunk using (user_id, agent_id, source_key, source_id)
    union all
    -- Whatever way it came in, it starts excluded.
    select 'open', gone.is_covered, record.user_id, record.agent_id, record.source_key, record.source_id
      from gone
      join orbitpilot.record as record
        on (record.user_id, record.agent_id, record.origin_session_id)
         = (gone.user_id, gone.agent_id, gone.session_id)
      left join memory.forgotten_record as known
        on (known.user_id, known.agent_id, known.source_key, known.source_id)
         = (record.user_id, record.agent_id, record.source_key, record.source_id)
     where not record.is_excluded and known.taken_back_at is null
    union all
    select 'open', gone_record.is_covered, record.user_id, record.agent_id, record.source_key, record.source_id
      from gone_record join orbitpilot.record as record using (user_id, agent_id, source_key, source_id)
     where not record.is_excluded
    union all
    select 'skip', gone.is_covered, skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id
      from gone
      join memory.skipped as skipped
        on (skipped.user_id, skipped.agent_id, skipped.source_key)
         = (gone.user_id, gone.agent_id, 'orbitpilot.chat_history')
       and skipped.source_id >= gone.session_id || ':' and skipped.source_id < gone.session_id || ';'
     where substr(skipped.source_id, length(gone.session_id) + 2) ~ '^[0-9]+$'
       and skipped.until_build_id is null and skipped.reason <> 'session_forgotten'
    union all
    select 'hash', gone.is_over, change.user_id, change.agent_id, change.source_key, change.source_id
      from gone
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key)
         = (gone.user_id, gone.agent_id, 'orbitpilot.chat_history')
       and change.source_id >= gone.session_id || ':' and change.source_id < gone.session_id || ';'
     where substr(change.source_id, length(gone.session_id) + 2) ~ '^[0-9]+$'
       and change.content_hash is not null
    union all
    select 'hash', gone_record.is_over, change.user_id, change.agent_id, change.source_key, change.source_id
      from gone_record join memory.change as change using (user_id, agent_id, source_key, source_id)
     where change.content_hash is not null
)
select kind, bool_or(is_covered), user_id, agent_id, source_key, source_id
  from found
 group by kind, user_id, agent_id, source_key, source_id
