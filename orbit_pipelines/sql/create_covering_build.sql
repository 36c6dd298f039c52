-- Up to when memory follows each person: their own watermark or the bucket's, unless it is another database's.
create temp table covering_build on commit drop as
select person.user_id, mark.build_id, mark.snapshot, build.recheck_snapshot, mark.plan_statuses
  from checked_person as person
  left join lateral (
        select watermark.*
          from memory.watermark as watermark
         where watermark.scope in ('user:' || person.user_id, 'bucket_000')
         order by watermark.scope = 'bucket_000'
         limit 1) as newest on true
  left join memory.watermark as mark
    on mark.scope = newest.scope
   and mark.system_identifier = (select system_identifier::text from pg_control_system())
   and mark.database_oid = (select oid from pg_database where datname = current_database())
  left join memory.build as build on build.build_id = mark.build_id;
analyze covering_build
