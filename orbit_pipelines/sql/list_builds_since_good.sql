-- The newest build that ended well, every one begun after it, and whichever says that it runs; the newest first.
-- Dead is one that says it runs, unless it holds its lock; one of several processes is given its grace. A forget has a
-- row of its own, for lineage; it is no build, and puts right nothing that failed before.
select build_id, dagster_run_id, mode, scope, status, started_at, coalesce(published_at, finished_at) as ended_at,
       note, added, removed, updated, embedded, from_cache,
       status = 'running' and (executor = 'in_process' or seen_at < now() - interval '10 minutes') as is_dead
  from memory.build
 where status = 'running'
    or mode <> 'forget'
       and build_id >= coalesce((select max(build_id)
                                   from memory.build
                                  where status in ('published', 'unchanged') and mode <> 'forget'), 0)
 order by build_id desc
