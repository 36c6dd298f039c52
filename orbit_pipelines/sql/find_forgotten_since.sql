-- What must not be embedded any more, of some stores: sessions forgotten since an extraction, and stores in which a forget
-- has begun since, whole.
with store as (
    select * from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(forget_revision)s::bigint[])
        as store (user_id, agent_id, forget_revision)
)
select store.user_id, store.agent_id, tombstone.session_id
  from store join memory.tombstone as tombstone using (user_id, agent_id)
 where tombstone.changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
   and not pg_visible_in_snapshot(tombstone.changed_xid, %(snapshot)s::pg_snapshot)
union all
select store.user_id, store.agent_id, null
  from store join memory.store as now using (user_id, agent_id)
 where now.forget_revision <> store.forget_revision
