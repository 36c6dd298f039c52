-- What the build of one Dagster run did, for whoever started the run.
select build_id, mode, status, note, records, added, removed, updated, unchanged, skipped, embedded, from_cache
  from memory.build
 where dagster_run_id = %(dagster_run_id)s
