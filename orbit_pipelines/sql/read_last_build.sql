-- The last build that covered a person: the one their watermark is of, or a later one that found nothing changed. A
-- watermark of no database is that of somebody whom no build has covered; and an account that came after the last build
-- of all has no statuses of sources yet.
with newest as (
    select watermark.build_id, watermark.system_identifier <> '' as has_covered,
           -- In a copy of the database its snapshot means nothing.
           case when watermark.system_identifier = (select system_identifier::text from pg_control_system())
                 and watermark.database_oid = (select oid from pg_database where datname = current_database())
                then watermark.snapshot
           end as snapshot
      from memory.watermark as watermark
     where watermark.scope in ('user:' || %(user_id)s, 'bucket_000')
     order by watermark.scope = 'bucket_000'
     limit 1
)
select build.build_id, build.mode, coalesce(build.published_at, build.finished_at) as ended_at, newest.snapshot::text,
       case when newest.snapshot is not null then covering.recheck_snapshot::text end
  from newest
  join memory.build as covering on covering.build_id = newest.build_id
  join memory.build as build
    on build.build_id = newest.build_id
    or (build.build_id > newest.build_id and build.status = 'unchanged'
        and (build.scope ? 'bucket' or build.scope -> 'users' ? %(user_id)s))
 where newest.has_covered
   and exists (select
                 from memory.source_status as known
                where known.user_id = %(user_id)s and known.until_build_id is null)
 order by build.build_id desc
 limit 1
