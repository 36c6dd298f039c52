-- Under the lock, so that publish_order is the order of publishes.
update memory.build
   set status = 'published', publish_order = nextval('memory.publish_order'), published_at = now(),
       finished_at = now(), snapshot = %(snapshot)s::pg_snapshot, recheck_snapshot = %(recheck_snapshot)s::pg_snapshot,
       recipe = %(recipe)s, note = %(note)s, records = %(records)s, added = %(added)s, removed = %(removed)s,
       updated = %(updated)s, unchanged = %(unchanged)s, skipped = %(skipped)s, embedded = %(embedded)s,
       from_cache = %(from_cache)s, superseded_stores = %(superseded_stores)s
 where build_id = %(build_id)s
