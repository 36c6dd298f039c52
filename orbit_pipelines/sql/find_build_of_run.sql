-- The build that a Dagster run made, if it made one.
select build_id, status, workspace
  from memory.build
 where dagster_run_id = %(run_id)s and workspace is not null
 order by build_id desc
 limit 1
