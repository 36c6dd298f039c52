-- What of schema memory could hold a text; numbers of primary keys name a row without telling what it says.
select 'memory.' || relation.relname,
       array_agg(attribute.attname::text order by attribute.attnum)
           filter (where attribute.atttypid in ('text'::regtype, 'varchar'::regtype, 'json'::regtype, 'jsonb'::regtype,
                                                'text[]'::regtype, 'varchar[]'::regtype)),
       coalesce(array_agg(attribute.attname::text order by attribute.attnum)
           filter (where attribute.atttypid in ('int'::regtype, 'bigint'::regtype, 'smallint'::regtype)
                     and attribute.attnum = any(key.indkey)), '{}'),
       array_agg(attribute.attname::text)
  from pg_class as relation
  join pg_attribute as attribute on attribute.attrelid = relation.oid
  left join pg_index as key on key.indrelid = relation.oid and key.indisprimary
 where relation.relnamespace = 'memory'::regnamespace and relation.relkind in ('r', 'p', 'm')
   and not relation.relispartition and attribute.attnum > 0 and not attribute.attisdropped
 group by 1
having bool_or(attribute.atttypid in ('text'::regtype, 'varchar'::regtype, 'json'::regtype, 'jsonb'::regtype,
                                      'text[]'::regtype, 'varchar[]'::regtype))
 order by 1
