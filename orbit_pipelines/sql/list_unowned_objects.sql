-- What isn't the owner's yet: whose it is, and the command that hands it over. Schemas first, because an owner of a
-- table must be allowed to make one; a column's sequence goes along with its table.
with ours as (
    select oid, nspname, nspowner from pg_namespace where nspname in ('orbitpilot', 'memory')
), found as (
    select 1 as place, nspowner as owner, format('schema %%I', nspname) as object from ours
    union all
    select 2, relation.relowner, format('table %%s', relation.oid::regclass)
      from pg_class as relation join ours on ours.oid = relation.relnamespace
     where relation.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and not exists (select from pg_depend as dependency
                        where dependency.classid = 'pg_class'::regclass and dependency.objid = relation.oid
                          and relation.relkind = 'S' and dependency.deptype in ('a', 'i'))
    union all
    select 3, routine.proowner, format('routine %%s', routine.oid::regprocedure)
      from pg_proc as routine join ours on ours.oid = routine.pronamespace
)
select pg_get_userbyid(found.owner), format('alter %%s owner to %%I', object, %(owner)s::text)
  from found
 where pg_get_userbyid(found.owner) <> %(owner)s
 order by place, object
