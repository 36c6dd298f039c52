-- The stores that no forget has touched since extraction, held until the transaction ends: a forget comes wholly before
-- what is cached under this, or wholly after it.
select store.user_id, store.agent_id
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(forget_revision)s::bigint[])
        as seen (user_id, agent_id, forget_revision)
  join memory.store as store
    on (store.user_id, store.agent_id, store.forget_revision) = (seen.user_id, seen.agent_id, seen.forget_revision)
 order by store.user_id, store.agent_id
   for share of store
