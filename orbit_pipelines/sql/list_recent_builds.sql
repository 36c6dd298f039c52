-- The newest published builds, for a plot of what came and went.
select build_id, published_at, coalesce(added, 0) as added, coalesce(removed, 0) as removed
  from memory.build
 where status = 'published'
 order by publish_order desc
 limit %(builds)s
