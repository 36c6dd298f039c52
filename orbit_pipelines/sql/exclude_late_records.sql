-- Records that came while they, or the session they come from, were forgotten, when neither saw the other: they start
-- excluded like any that come later. What came since builds last looked is enough.
with since as (
    -- One watermark of another cluster is void: then all are looked at.
    select coalesce((select min(pg_snapshot_xmin(snapshot)) from memory.watermark
                     having bool_and((system_identifier, database_oid)
                                   = ((select system_identifier::text from pg_control_system()),
                                      (select oid from pg_database where datname = current_database())))),
                    '0'::xid8) as xid
), late as (
    select record.user_id, record.agent_id, record.source_key, record.source_id, record.origin_session_id
      from orbitpilot.record as record
      left join memory.forgotten_record as known using (user_id, agent_id, source_key, source_id)
     where record.content_xid >= (select xid from since)
       and not record.is_excluded
       and known.taken_back_at is null
       and (known.user_id is not null
            or exists (select from memory.tombstone as tombstone
                        where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                            = (record.user_id, record.agent_id, record.origin_session_id)))
), kept as (
    insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id)
    select * from late
        on conflict do nothing
)
update orbitpilot.record as record
   set is_excluded = true
  from late
 where (record.user_id, record.agent_id, record.source_key, record.source_id)
     = (late.user_id, late.agent_id, late.source_key, late.source_id)
