-- Tables under row-level security that analysts can't read across people yet, as the commands that let them.
select format('drop policy if exists analysts_read on %%1$s;'
              ' create policy analysts_read on %%1$s for select to %%2$I using (true)',
              relation.oid::regclass, %(analyst)s::text)
  from pg_class as relation
 where relation.relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
   and relation.relrowsecurity and not relation.relispartition
   and not exists (select from pg_policy as policy
                    where policy.polrelid = relation.oid and policy.polname = 'analysts_read'
                      and policy.polroles = array[(select oid from pg_roles where rolname = %(analyst)s)])
 order by 1
