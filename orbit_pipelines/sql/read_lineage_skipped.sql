-- Records that began or ended to stay out with given builds: rows whose end comes later are events, not intervals.
select event.build_id, build.publish_order, build.published_at,
       event.user_id, event.agent_id, event.source_key, event.source_id, event.reason, event.event
  from (select since_build_id as build_id, user_id, agent_id, source_key, source_id, reason, 'began' as event
          from memory.skipped
         where since_build_id = any(%(builds)s)
        union all
        select until_build_id, user_id, agent_id, source_key, source_id, reason, 'ended'
          from memory.skipped
         where until_build_id = any(%(builds)s)) as event
  join memory.build as build using (build_id)
 order by build.publish_order, event.user_id, event.agent_id, event.source_key, event.source_id, event.event desc
