-- The newest build that ended well, every one begun after it, and whichever says that it runs; the newest first.
select build_id, dagster_run_id, mode, scope, status, started_at, coalesce(published_at, finished_at) as ended_at,
       note, added, removed, updated, embedded, from_cache
  from memory.build
 where status = 'running'
    or build_id >= coalesce((select max(build_id) from memory.build where status in ('published', 'unchanged')), 0)
 order by build_id desc
