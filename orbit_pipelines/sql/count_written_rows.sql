-- What the server counted of rows that came, changed and went, rolled back ones included: a build can't hide a write.
select schemaname || '.' || relname, n_tup_ins, n_tup_upd, n_tup_del
  from pg_stat_user_tables
 where schemaname in ('orbitpilot', 'memory')
 order by 1
