-- What each person's sources were, from one build until another: the event after a beginning is its end.
create view source_statuses as
select user_id, source_key, status, reason,
       build_id as since_build_id,
       published_at as since_at,
       until_build_id,
       until_at
  from (select *,
               lead(build_id) over source_in_time as until_build_id,
               lead(published_at) over source_in_time as until_at
          from mirrored_source_statuses
        window source_in_time as (partition by user_id, source_key order by publish_order, event = 'began'))
 where event = 'began'
