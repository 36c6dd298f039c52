-- Every record of the extent with its flag: blinks, documents, facts.
with wanted as (
    select * from unnest(%(record_user_id)s::text[], %(record_agent_id)s::text[], %(record_source_key)s::text[],
                         %(record_source_id)s::text[])
        as wanted (user_id, agent_id, source_key, source_id)
), mark as (
    select * from unnest(%(mark_users)s::text[], %(mark_snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
), live as (
    select record.* from orbitpilot.record as record
     where %(is_everything)s or record.user_id = any(%(whole_users)s)
    union all
    select record.* from wanted join orbitpilot.record as record using (user_id, agent_id, source_key, source_id)
)
select live.user_id, live.agent_id, live.source_key, live.source_id, live.title, live.content,
       -- A record may come from a session while that is forgotten, when neither sees the other.
       live.is_excluded
       or exists (select from memory.tombstone as tombstone
                   where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                       = (live.user_id, live.agent_id, live.origin_session_id)
                     and not exists (select from memory.forgotten_record as known
                                      where (known.user_id, known.agent_id, known.source_key, known.source_id)
                                          = (live.user_id, live.agent_id, live.source_key, live.source_id)
                                        and known.taken_back_at is not null)) as is_excluded,
       live.origin_session_id, live.origin_message_id, live.recorded_at,
       not pg_visible_in_snapshot(live.content_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
           as is_content_changed
  from live
  left join mark on mark.user_id = live.user_id
 order by live.user_id, live.agent_id, live.source_key, live.source_id
