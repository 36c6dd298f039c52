-- The files of some tables: heap, TOAST, and the indexes of both; partitions with their parent.
with wanted as (
    select inheritance.relid::oid as oid
      from unnest(%(tables)s::regclass[]) as given cross join lateral pg_partition_tree(given) as inheritance
    union
    select unnest(%(tables)s::regclass[])::oid
), heaps as (
    select relation.oid, relation.oid::regclass::text as table_name, relation.reltoastrelid
      from wanted join pg_class as relation using (oid)
     where relation.relkind in ('r', 'm')
), relations as (
    select oid, table_name, 'heap' as part from heaps
    union all
    select reltoastrelid, table_name, 'TOAST' from heaps where reltoastrelid <> 0
)
select relations.table_name, relations.part, pg_relation_filepath(relations.oid), pg_relation_size(relations.oid)
  from relations
union all
select relations.table_name, relations.part || ' index', pg_relation_filepath(index.indexrelid),
       pg_relation_size(index.indexrelid)
  from relations join pg_index as index on index.indrelid = relations.oid
 order by 1, 2, 3
