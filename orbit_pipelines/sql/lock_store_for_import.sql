-- Imports into one store take turns: two files may hold the same sessions in different orders, and would deadlock.
select pg_advisory_xact_lock(hashtextextended(%(agent_id)s, hashtextextended(%(user_id)s, 2)))
