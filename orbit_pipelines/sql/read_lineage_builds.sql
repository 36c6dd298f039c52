-- Build rows as the mirror keeps them: no note, no workspace, nothing that could hold a text.
select build_id, publish_order, status, mode, scope::text, recipe, executor, dagster_run_id,
       started_at, published_at, finished_at,
       records, added, removed, updated, unchanged, skipped, embedded, from_cache, superseded_stores
  from memory.build
 where build_id = any(%(builds)s)
 order by build_id
