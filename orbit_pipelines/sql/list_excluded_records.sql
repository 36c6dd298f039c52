-- A person's records that are kept out of memory by their own eye.
select record.agent_id, record.source_key, record.source_id, record.title,
       record.content as beginning, record.recorded_at,
       coalesce(not pg_visible_in_snapshot(record.flag_xid, %(recheck_snapshot)s::pg_snapshot), true) as is_flag_new,
       case when exists (select from memory.tombstone as tombstone
                          where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                              = (record.user_id, record.agent_id, record.origin_session_id))
            then 'session_forgotten'
       end as origin
  from orbitpilot.record as record
 where record.user_id = %(user_id)s and record.is_excluded
 order by record.recorded_at desc, record.agent_id, record.source_key, record.source_id
