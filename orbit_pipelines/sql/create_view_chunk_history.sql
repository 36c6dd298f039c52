-- Each life of each chunk, from the build that added it to the one that removed it (null: it is in memory).
create view chunk_history as
select user_id, agent_id, source_key, source_id, session_id, pair_index, chunk_index, content_hash,
       build_id as added_build_id,
       changed_at as added_at,
       reason as added_reason,
       removed_build_id,
       removed_at,
       removed_reason
  from (select *,
               lead(build_id) over chunk_in_time as removed_build_id,
               lead(changed_at) over chunk_in_time as removed_at,
               lead(reason) over chunk_in_time as removed_reason
          from changes
         where action in ('added', 'removed')
        window chunk_in_time as (partition by user_id, agent_id, source_key, source_id, chunk_index
                                     order by publish_order, action = 'added'))
 where action = 'added'
