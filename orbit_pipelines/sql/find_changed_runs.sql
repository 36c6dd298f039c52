-- The runs around each message whose content (or flag, if asked for) changed: its own, or the one its reply answers.
with mark as (
    select * from unnest(%(users)s::text[], %(snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
), touched as (
    select user_id, agent_id, session_id, run_index, answers, content_xid as changed_xid
      from orbitpilot.message where content_xid >= %(oldest)s::xid8
    union all
    select user_id, agent_id, session_id, run_index, answers, flag_xid
      from orbitpilot.message where flag_xid >= %(oldest)s::xid8 and %(with_flags)s
), changed as (
    select distinct touched.user_id, touched.agent_id, touched.session_id, touched.run_index, touched.answers
      from touched
      left join mark on mark.user_id = touched.user_id
     where (%(only_users)s::text[] is null or touched.user_id = any(%(only_users)s))
       and not pg_visible_in_snapshot(touched.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
)
select user_id, agent_id, session_id, run_index
  from changed where run_index is not null
union
select changed.user_id, changed.agent_id, changed.session_id,
       coalesce(answered.run_index, case when known.deleted_at is not null then known.run_index end)
  from changed
  left join orbitpilot.message as answered
    on (answered.user_id, answered.agent_id, answered.session_id, answered.pair_index)
     = (changed.user_id, changed.agent_id, changed.session_id, changed.answers)
  -- By its key, whether deleted or not: of the index of deleted ones a planner without statistics reads all, each time.
  left join memory.pair as known
    on (known.user_id, known.agent_id, known.session_id, known.pair_index)
     = (changed.user_id, changed.agent_id, changed.session_id, changed.answers)
 where changed.answers is not null
   and coalesce(answered.run_index, case when known.deleted_at is not null then known.run_index end) is not null
