-- Which pairs and records of a person some build has covered, and why each was last out.
with past as (
    select change.user_id, change.agent_id, change.source_key, change.source_id,
           (array_agg(change.reason order by build.publish_order desc)
               filter (where change.action = 'removed'))[1] as last_removed_reason
      from memory.change as change
      join memory.build as build using (build_id)
     where change.user_id = %(user_id)s
     group by 1, 2, 3, 4
), skips as (
    select user_id, agent_id, source_key, source_id,
           (array_agg(reason order by since_build_id desc) filter (where until_build_id is null))[1] as reason
      from memory.skipped
     where user_id = %(user_id)s
     group by 1, 2, 3, 4
)
select user_id, agent_id, source_key, source_id, coalesce(skips.reason, past.last_removed_reason), true
  from past full join skips using (user_id, agent_id, source_key, source_id)
