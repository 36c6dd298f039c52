-- Everything builds decided about one pair, and about its source for that person, in publish order.
select build.build_id, build.publish_order, build.published_at, event.kind, event.reason, event.chunk_count, event.hashes
  from (select build_id, action as kind, reason, count(*)::int as chunk_count,
               array_agg(encode(content_hash, 'hex') order by chunk_index) filter (where content_hash is not null)
                   as hashes
          from memory.change
         where (user_id, agent_id, source_key, source_id) = (%(user)s, %(agent)s, %(source)s, %(source_id)s)
         group by build_id, action, reason
        union all
        select since_build_id, 'skipped', reason, 0, null
          from memory.skipped
         where (user_id, agent_id, source_key, source_id) = (%(user)s, %(agent)s, %(source)s, %(source_id)s)
        union all
        select until_build_id, 'skip_ended', reason, 0, null
          from memory.skipped
         where (user_id, agent_id, source_key, source_id) = (%(user)s, %(agent)s, %(source)s, %(source_id)s)
           and until_build_id is not null
        union all
        select since_build_id,
               case status when 'included' then 'source_included' else 'source_not_included' end, reason, 0, null
          from memory.source_status
         where user_id = %(user)s and source_key = %(source)s) as event
  join memory.build as build using (build_id)
 order by build.publish_order nulls first,
          array_position(array['source_included', 'source_not_included', 'skip_ended', 'removed', 'added', 'updated',
                               'skipped'], event.kind),
          event.reason
