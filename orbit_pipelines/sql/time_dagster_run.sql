-- In Dagster's own database: the seconds from a run's first event to its last, and how many events there are.
select extract(epoch from max(timestamp) - min(timestamp))::float8, count(*)
  from event_logs
 where run_id = %(run_id)s
