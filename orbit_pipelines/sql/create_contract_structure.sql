-- Which columns of which types the application's tables and views have.
create temp view contract_structure as
select namespace.nspname || '.' || relation.relname || '.' || attribute.attname || ' '
       || format_type(attribute.atttypid, attribute.atttypmod) as fact
  from pg_attribute as attribute
  join pg_class as relation on relation.oid = attribute.attrelid
  join pg_namespace as namespace on namespace.oid = relation.relnamespace
 where namespace.nspname in ('orbitpilot', 'memory') and attribute.attnum > 0 and not attribute.attisdropped
