-- A table's columns with the comments they have in the schema, for those who read about it elsewhere.
select attname, format_type(atttypid, atttypmod), not attnotnull, col_description(attrelid, attnum)
  from pg_attribute
 where attrelid = %(name)s::regclass and attnum > 0 and not attisdropped
 order by attnum
