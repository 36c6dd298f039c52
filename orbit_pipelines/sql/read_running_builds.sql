-- Builds that say they run; one of several processes is given ten minutes after its last sign of life.
select build.build_id, build.dagster_run_id, build.workspace
  from memory.build as build
 where build.status = 'running'
   and build.build_id is distinct from %(but)s::bigint
   and (build.executor = 'in_process' or build.seen_at < now() - interval '10 minutes')
 order by build.build_id
