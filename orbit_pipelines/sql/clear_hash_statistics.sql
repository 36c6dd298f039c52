-- The planner keeps sample values of columns, hashes of rows that are gone too; an analyze gathers those of the rest.
select pg_clear_attribute_stats(stats.schemaname, stats.tablename, stats.attname, stats.inherited)
  from pg_stats as stats
 where stats.attname = 'content_hash'
   and to_regclass(format('%%I.%%I', stats.schemaname, stats.tablename))
       in (select relation.relid from unnest(%(tables)s::regclass[]) as given
            cross join lateral pg_partition_tree(given) as relation
           union
           select unnest(%(tables)s::regclass[]))
