-- Builds that will not change any more, with the UTC month they ended in: what the mirror must hold.
select build_id,
       started_at,
       to_char(coalesce(published_at, finished_at, started_at) at time zone 'UTC', 'YYYY-MM') as month,
       status = 'published' as is_published
  from memory.build
 where status <> 'running'
 order by build_id
