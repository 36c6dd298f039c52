-- What lineage knows of each source this publish changes, and why one is absent that the extraction doesn't have. An
-- account may have gone and be here again: what memory had of it went with it, for else that were removed by now.
with remade as materialized (
    select deletion.user_id
      from orbitpilot.deletion as deletion
     where deletion.kind = 'account'
       and deletion.changed_xid >= (select min(pg_snapshot_xmin(snapshot)) from memory.watermark)
       and not pg_visible_in_snapshot(
                   deletion.changed_xid,
                   coalesce((select snapshot from memory.watermark where scope = 'user:' || deletion.user_id),
                            (select snapshot from memory.watermark where scope = 'bucket_000')))
)
select touched.user_id, touched.agent_id, touched.source_key, touched.source_id,
       skipped.reason,
       past.last_removed_reason,
       to_json(coalesce(past.left_branch_hashes, '{}'))::text,
       coalesce(past.is_said_present, false),
       case
           when tombstone.session_id is not null then 'session_forgotten'
           when account.user_id is null then 'account_deleted'
           when touched.source_key = 'orbitpilot.chat_history' and pair.pair_index is null and past.is_covered is null
               then null
           when past.is_covered and touched.user_id in (select user_id from remade) then 'account_deleted'
           when touched.source_key = 'orbitpilot.chat_history' and session.session_id is null then 'session_deleted'
           when past.is_covered is null then null
           else 'message_deleted'
       end
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(source_key)s::text[], %(source_id)s::text[],
              %(session_id)s::text[]) as touched (user_id, agent_id, source_key, source_id, session_id)
  left join memory.skipped as skipped
    on (skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id)
     = (touched.user_id, touched.agent_id, touched.source_key, touched.source_id)
   and skipped.until_build_id is null
  left join orbitpilot.account as account on account.user_id = touched.user_id
  left join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id)
     = (touched.user_id, touched.agent_id, touched.session_id)
  left join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
     = (touched.user_id, touched.agent_id, touched.session_id)
   and touched.source_key = 'orbitpilot.chat_history'
  left join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id) = (touched.user_id, touched.agent_id, touched.session_id)
   and touched.source_id = pair.session_id || ':' || pair.pair_index
  left join lateral (
        select true as is_covered,
               (array_agg(change.reason order by build.publish_order desc) filter (where change.action = 'removed'))[1]
                   as last_removed_reason,
               array_agg(encode(change.content_hash, 'hex'))
                   filter (where change.action = 'removed' and change.reason = 'left_branch') as left_branch_hashes,
               (array_agg(change.action order by build.publish_order desc, change.action))[1] <> 'removed'
                   as is_said_present
          from memory.change as change
          join memory.build as build using (build_id)
         where (change.user_id, change.agent_id, change.source_key, change.source_id)
             = (touched.user_id, touched.agent_id, touched.source_key, touched.source_id)
        having count(*) > 0
       ) as past on true
