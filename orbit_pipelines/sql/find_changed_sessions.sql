-- Sessions to take whole: something of them was deleted, they were forgotten, their own row changed, or an admission rule
-- that matches them came or went.
with mark as (
    select * from unnest(%(users)s::text[], %(snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
), touched as (
    select user_id, agent_id, session_id, changed_xid
      from orbitpilot.session where changed_xid >= %(oldest)s::xid8
    union all
    select user_id, agent_id, session_id, changed_xid
      from orbitpilot.deletion where changed_xid >= %(oldest)s::xid8 and kind in ('session', 'message')
    union all
    select user_id, agent_id, session_id, changed_xid
      from memory.tombstone where changed_xid >= %(oldest)s::xid8
    union all
    select user_id, agent_id, session_id, changed_xid
      from memory.admission_match where changed_xid >= %(oldest)s::xid8
)
select distinct touched.user_id, touched.agent_id, touched.session_id
  from touched
  left join mark on mark.user_id = touched.user_id
 where (%(only_users)s::text[] is null or touched.user_id = any(%(only_users)s))
   and not pg_visible_in_snapshot(touched.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
