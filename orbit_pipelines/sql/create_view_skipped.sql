-- Records that stayed out, from one build until another: the event after a beginning is its end.
create view skipped as
select user_id, agent_id, source_key, source_id,
       case when source_key = 'orbitpilot.chat_history'
            then regexp_extract(source_id, '^(.*):[0-9]+$', 1) end as session_id,
       case when source_key = 'orbitpilot.chat_history'
            then try_cast(regexp_extract(source_id, ':([0-9]+)$', 1) as integer) end as pair_index,
       reason,
       build_id as since_build_id,
       published_at as since_at,
       until_build_id,
       until_at
  from (select *,
               lead(build_id) over record_in_time as until_build_id,
               lead(published_at) over record_in_time as until_at
          from mirrored_skipped
        window record_in_time as (partition by user_id, agent_id, source_key, source_id
                                      order by publish_order, event = 'began'))
 where event = 'began'
