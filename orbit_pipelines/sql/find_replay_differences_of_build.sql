-- The same for one build: only keys it changed or whose row it wrote, so that a small build has a small check.
with touched as (
    select user_id, agent_id, source_key, source_id, chunk_index from memory.change where build_id = %(build)s
    union
    select user_id, agent_id, source_key, source_id, chunk_index from memory.chunk where build_id = %(build)s
), replayed as (
    select touched.*, newest.content_hash, newest.action
      from touched
      left join lateral (
            select change.content_hash, change.action
              from memory.change as change
              left join memory.build as build using (build_id)
             where (change.user_id, change.agent_id, change.source_key, change.source_id, change.chunk_index)
                 = (touched.user_id, touched.agent_id, touched.source_key, touched.source_id, touched.chunk_index)
             order by build.publish_order desc nulls last, change.action = 'removed'
             limit 1) as newest on true
     where %(users)s::text[] is null or touched.user_id = any(%(users)s::text[])
), differing as (
    select case when stored.content_hash is null then 'missing'
                when replayed.action is distinct from 'added' and replayed.action is distinct from 'updated' then 'extra'
                else 'hash_differs' end as difference,
           user_id, agent_id, source_key, source_id, chunk_index
      from replayed
      left join memory.chunk as stored using (user_id, agent_id, source_key, source_id, chunk_index)
     where (case when replayed.action <> 'removed' then replayed.content_hash end)
           is distinct from stored.content_hash
), numbered as (
    select *,
           count(*) over (partition by difference) as of_its_kind,
           row_number() over (partition by difference
                                  order by user_id, agent_id, source_key, source_id, chunk_index) as number
      from differing
)
select difference, of_its_kind, user_id, agent_id, source_key, source_id, chunk_index
  from numbered
 where number <= greatest(%(shown)s, 1)
 order by difference, number
