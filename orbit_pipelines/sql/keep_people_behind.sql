-- People left out of a build of everyone keep the bucket's mark as it was, as a row of their own; without one, an empty
-- row that means nothing in any database, so that the next build takes them whole.
insert into memory.watermark (scope, snapshot, system_identifier, database_oid, recipe, plan_statuses, build_id)
select 'user:' || behind.user_id, coalesce(bucket.snapshot, '1:1:'), coalesce(bucket.system_identifier, ''),
       coalesce(bucket.database_oid, 0), coalesce(bucket.recipe, ''), coalesce(bucket.plan_statuses, '{}'),
       coalesce(bucket.build_id, %(build_id)s)
  from unnest(%(users)s::text[]) as behind (user_id)
  left join memory.watermark as bucket on bucket.scope = %(bucket)s
    on conflict (scope) do nothing
