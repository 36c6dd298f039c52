-- What builds decided about a source for one person under each of their names, told by its place, in publish order.
select person.place::int - 1 as place, build.build_id, build.publish_order, build.started_at, build.published_at,
       case status.status when 'included' then 'source_included' else 'source_not_included' end as kind, status.reason,
       0 as chunk_count, null::text[] as hashes, false as is_ending
  from unnest(%(people)s::text[]) with ordinality as person (user_id, place)
  join memory.source_status as status
    on (status.user_id, status.source_key) = (person.user_id, %(source)s)
  join memory.build as build on build.build_id = status.since_build_id
 order by build.publish_order nulls first, person.place
