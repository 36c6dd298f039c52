-- Keys whose newest change and whose row in the index disagree: the index must be what its lineage replays to.
with replayed as (
    select distinct on (change.user_id, change.agent_id, change.source_key, change.source_id, change.chunk_index)
           change.user_id, change.agent_id, change.source_key, change.source_id, change.chunk_index,
           change.content_hash, change.action
      from memory.change as change
      left join memory.build as build using (build_id)
     where %(users)s::text[] is null or change.user_id = any(%(users)s::text[])
     order by change.user_id, change.agent_id, change.source_key, change.source_id, change.chunk_index,
              build.publish_order desc nulls last, change.action = 'removed'
), stored as (
    select user_id, agent_id, source_key, source_id, chunk_index, content_hash
      from memory.chunk
     where %(users)s::text[] is null or user_id = any(%(users)s::text[])
), differing as (
    select case when stored.content_hash is null then 'missing'
                when replayed.action is null then 'extra'
                else 'hash_differs' end as difference,
           user_id, agent_id, source_key, source_id, chunk_index
      from (select * from replayed where action <> 'removed') as replayed
      full join stored using (user_id, agent_id, source_key, source_id, chunk_index)
     where replayed.content_hash is distinct from stored.content_hash
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
