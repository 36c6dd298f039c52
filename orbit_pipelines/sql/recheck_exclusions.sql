-- One statement, so that what it finds and the snapshot that says up to when are the same moment; and whether something
-- moved or went since extraction, which recheck_departures asks about: planning that takes longer than most publishes.
with {{news_since}}
select pg_current_snapshot()::text, now(),
       exists (select from orbitpilot.deletion as deletion
                where deletion.changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
                  and not pg_visible_in_snapshot(deletion.changed_xid, %(snapshot)s::pg_snapshot)
                  and deletion.kind <> 'account'
                  and (%(everyone)s or deletion.user_id = any(%(users)s))) as has_departures,
       told.*
  from (select) as always
  left join told
    on (%(everyone)s or told.user_id = any(%(users)s)) and told.user_id <> all(%(left_out)s)
