-- People to take whole: their plan or its sources changed, or their account came, moved or went.
with mark as (
    select * from unnest(%(users)s::text[], %(snapshots)s::pg_snapshot[], %(user_plans)s::jsonb[])
        as mark (user_id, snapshot, moved_plans)
)
select account.user_id
  from orbitpilot.account as account
  left join mark on mark.user_id = account.user_id
 where (%(only_users)s::text[] is null or account.user_id = any(%(only_users)s))
   and account.changed_xid >= %(oldest)s::xid8
   and not pg_visible_in_snapshot(account.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
union
select deletion.user_id
  from orbitpilot.deletion as deletion
  left join mark on mark.user_id = deletion.user_id
 where (%(only_users)s::text[] is null or deletion.user_id = any(%(only_users)s))
   and deletion.kind = 'account'
   and deletion.changed_xid >= %(oldest)s::xid8
   and not pg_visible_in_snapshot(deletion.changed_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
union
select account.user_id
  from orbitpilot.account as account
  left join mark on mark.user_id = account.user_id
 where (%(only_users)s::text[] is null or account.user_id = any(%(only_users)s))
   and coalesce(mark.moved_plans, to_jsonb(%(bucket_plans)s::text[])) <> '[]'
   and coalesce(mark.moved_plans, to_jsonb(%(bucket_plans)s::text[]))
     ? coalesce(account.plan_key, '')
