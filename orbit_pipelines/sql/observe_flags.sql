-- How much each source's people don't want remembered, and how many flags were toggled since the last build.
-- A row that came unflagged has the transaction of its content; a later one is that of a toggle.
with flag as (
    select %(chat_history)s as source_key, not_remembered as is_set, flag_xid,
           not_remembered or flag_xid <> content_xid as is_toggled
      from orbitpilot.message where role = 'user'
    union all
    select source_key, is_excluded, flag_xid, is_excluded or flag_xid <> content_xid from orbitpilot.record
)
select source_key, count(*) filter (where is_set), (max(flag_xid) filter (where is_toggled))::text,
       count(*) filter (where is_toggled
                          and not coalesce(pg_visible_in_snapshot(flag_xid, %(snapshot)s::pg_snapshot), false))
  from flag
 group by source_key
 order by source_key
