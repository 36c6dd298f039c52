-- Chunks of sources that aren't a person's as of what the last publish recorded, and recorded statuses that are not
-- what the plans say now. A plan that changed since the person's watermark is pending.
with plan_status as (
    select * from unnest(%(plan_keys)s::text[], %(source_keys)s::text[], %(reasons)s::text[])
        as plan_status (plan_key, source_key, reason)
), in_force as (
    select known.user_id, known.source_key, known.status, known.reason
      from checked_person join memory.source_status as known using (user_id)
     where known.until_build_id is null
), account as (
    select account.user_id, cover.snapshot, cover.plan_statuses, account.changed_xid,
           coalesce(account.plan_key, '') as own_plan,
           coalesce(account.plan_key, (select plan_key from orbitpilot.plan where is_default)) as plan_key
      from covering_build as cover join orbitpilot.account as account using (user_id)
), fresh as (
    select account.user_id, plan_status.source_key, plan_status.reason
      from account join plan_status using (plan_key)
), compared as (
    select user_id, source_key,
           known.status is distinct from case when fresh.reason is null then 'included' else 'not_included' end
           or known.reason is distinct from fresh.reason or fresh.user_id is null as is_different
      from fresh
      full join (select * from in_force where user_id in (select user_id from account)) as known
          using (user_id, source_key)
)
select 'chunks_outside_the_plan' as problem, false as is_pending, chunk.user_id, chunk.source_key
  from (select distinct user_id, source_key from checked_chunk) as chunk
  left join in_force using (user_id, source_key)
 where in_force.status is distinct from 'included'
union all
select 'statuses_that_disagree',
       account.snapshot is null
       or not pg_visible_in_snapshot(account.changed_xid, account.snapshot)
       or account.plan_statuses -> account.own_plan is distinct from %(plan_statuses)s::jsonb -> account.own_plan,
       account.user_id, compared.source_key
  from compared join account using (user_id)
 where compared.is_different
