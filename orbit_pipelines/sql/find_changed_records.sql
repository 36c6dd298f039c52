-- Records of the other sources that changed or went, and those that were toggled unless only content is asked for.
with mark as (
    select * from unnest(%(users)s::text[], %(snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
), touched as (
    select user_id, agent_id, source_key, source_id, content_xid as changed_xid
      from orbitpilot.record where content_xid >= %(oldest)s::xid8
    union all
    select user_id, agent_id, source_key, source_id, flag_xid
      from orbitpilot.record where flag_xid >= %(oldest)s::xid8 and %(with_flags)s
    union all
    select user_id, agent_id, source_key, source_id, changed_xid
      from orbitpilot.deletion where changed_xid >= %(oldest)s::xid8 and kind = 'record'
)
select distinct touched.user_id, touched.agent_id, touched.source_key, touched.source_id
  from touched
  left join mark on mark.user_id = touched.user_id
 where (%(only_users)s::text[] is null or touched.user_id = any(%(only_users)s))
   and not pg_visible_in_snapshot(touched.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
