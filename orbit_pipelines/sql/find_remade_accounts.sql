-- Accounts that went since the watermarks, whether they are here again or not.
with mark as (
    select * from unnest(%(mark_users)s::text[], %(mark_snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
)
select distinct deletion.user_id
  from orbitpilot.deletion as deletion
  left join mark on mark.user_id = deletion.user_id
 where deletion.kind = 'account'
   and not pg_visible_in_snapshot(deletion.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
