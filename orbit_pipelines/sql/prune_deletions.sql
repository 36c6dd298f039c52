-- What every watermark has passed, no build will ask for again; of people whom none tells of, nothing is pruned.
delete from orbitpilot.deletion as deletion
 where deletion.changed_xid < (select min(pg_snapshot_xmin(snapshot)) from memory.watermark)
   and exists (select from memory.watermark where scope in ('bucket_000', 'user:' || deletion.user_id))
