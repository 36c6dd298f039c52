-- From now on, changed means: not visible in this snapshot.
insert into memory.watermark (scope, snapshot, system_identifier, database_oid, recipe, plan_statuses, build_id)
values (%(scope)s, %(snapshot)s::pg_snapshot, %(system_identifier)s, %(database_oid)s, %(recipe)s, %(plan_statuses)s,
        %(build_id)s)
    on conflict (scope) do update
   set snapshot = excluded.snapshot, system_identifier = excluded.system_identifier,
       database_oid = excluded.database_oid, recipe = excluded.recipe, plan_statuses = excluded.plan_statuses,
       build_id = excluded.build_id
