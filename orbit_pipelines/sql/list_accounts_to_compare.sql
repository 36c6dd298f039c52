-- The accounts that may be forgotten ones that came back: new or changed since builds last looked.
select user_id
  from orbitpilot.account
 where (exists (select from memory.account_tombstone) or exists (select from memory.account_forgotten_record))
   and changed_xid >= coalesce((select min(pg_snapshot_xmin(snapshot)) from memory.watermark), '0'::xid8)
