-- How much content each source has, how new it is, and how much of it is newer than the last build; no text is read.
with content as (
    select %(chat_history)s as source_key, content_xid from orbitpilot.message
    union all
    select source_key, content_xid from orbitpilot.record
)
select source_key, count(*), max(content_xid)::text,
       count(*) filter (where not coalesce(pg_visible_in_snapshot(content_xid, %(snapshot)s::pg_snapshot), false))
  from content
 group by source_key
 order by source_key
