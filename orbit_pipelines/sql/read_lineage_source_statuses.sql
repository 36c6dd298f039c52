-- Statuses of people's sources that began or ended with given builds: rows whose end comes later are events.
select event.build_id, build.publish_order, build.published_at,
       event.user_id, event.source_key, event.status, event.reason, event.event
  from (select since_build_id as build_id, user_id, source_key, status, reason, 'began' as event
          from memory.source_status
         where since_build_id = any(%(builds)s)
        union all
        select until_build_id, user_id, source_key, status, reason, 'ended'
          from memory.source_status
         where until_build_id = any(%(builds)s)) as event
  join memory.build as build using (build_id)
 order by build.publish_order, event.user_id, event.source_key, event.event desc
