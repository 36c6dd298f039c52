-- What every watermark has passed, no build will ask for again.
delete from orbitpilot.deletion as deletion
 where deletion.changed_xid < (select min(pg_snapshot_xmin(snapshot)) from memory.watermark)
