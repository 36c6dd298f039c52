-- The accounts that may be forgotten ones that came back: new or changed since builds last looked.
select user_id
  from orbitpilot.account
 where (exists (select from memory.account_tombstone) or exists (select from memory.account_forgotten_record))
   and changed_xid >= coalesce((select min(pg_snapshot_xmin(snapshot)) from memory.watermark
                               -- One of another cluster is void: then all are looked at.
                               having bool_and((system_identifier, database_oid)
                                             = ((select system_identifier::text from pg_control_system()),
                                                (select oid from pg_database where datname = current_database())))),
                               '0'::xid8)
