-- A person's status for a source is written only when it changes; of people who are gone it ends.
with plan_status as (
    select * from unnest(%(plan_keys)s::text[], %(source_keys)s::text[], %(reasons)s::text[])
        as plan_status (plan_key, source_key, reason)
), fresh as (
    select account.user_id, plan_status.source_key, plan_status.reason
      from orbitpilot.account as account
      join plan_status
        on plan_status.plan_key
         = coalesce(account.plan_key, (select plan_key from orbitpilot.plan where is_default))
     where (%(everyone)s or account.user_id = any(%(users)s)) and account.user_id <> all(%(left_out)s)
), ended as (
    update memory.source_status as known
       set until_build_id = %(build_id)s
     where known.until_build_id is null
       and (%(everyone)s or known.user_id = any(%(users)s)) and known.user_id <> all(%(left_out)s)
       and not exists (select from fresh
                        where (fresh.user_id, fresh.source_key) = (known.user_id, known.source_key)
                          and fresh.reason is not distinct from known.reason)
    returning known.user_id, known.source_key
)
insert into memory.source_status (user_id, source_key, status, reason, since_build_id)
select fresh.user_id, fresh.source_key, case when fresh.reason is null then 'included' else 'not_included' end,
       fresh.reason, %(build_id)s
  from fresh
  left join memory.source_status as known
    on (known.user_id, known.source_key) = (fresh.user_id, fresh.source_key) and known.until_build_id is null
  left join ended on (ended.user_id, ended.source_key) = (fresh.user_id, fresh.source_key)
 where known.user_id is null or ended.user_id is not null
