-- Everything builds decided about one pair under each of its names, told by its place among them, in publish order.
with called as (
    select * from unnest(%(users)s::text[], %(agents)s::text[], %(source_ids)s::text[])
        with ordinality as called (user_id, agent_id, source_id, place)
)
select event.place::int - 1 as place, build.build_id, build.publish_order, build.started_at, build.published_at, event.kind,
       event.reason, event.chunk_count, event.hashes, event.kind in ('removed', 'skip_ended') as is_ending
  from (select called.place, change.build_id, change.action as kind, change.reason, count(*)::int as chunk_count,
               array_agg(encode(change.content_hash, 'hex') order by change.chunk_index)
                   filter (where change.content_hash is not null) as hashes
          from called
          join memory.change as change
            on (change.user_id, change.agent_id, change.source_key, change.source_id)
             = (called.user_id, called.agent_id, %(source)s, called.source_id)
         group by called.place, change.build_id, change.action, change.reason
        union all
        select called.place, skipped.since_build_id, 'skipped', skipped.reason, 0, null
          from called
          join memory.skipped as skipped
            on (skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id)
             = (called.user_id, called.agent_id, %(source)s, called.source_id)
        union all
        select called.place, skipped.until_build_id, 'skip_ended', skipped.reason, 0, null
          from called
          join memory.skipped as skipped
            on (skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id)
             = (called.user_id, called.agent_id, %(source)s, called.source_id)
         where skipped.until_build_id is not null) as event
  join memory.build as build using (build_id)
 order by build.publish_order nulls first, event.kind, event.reason, event.place
