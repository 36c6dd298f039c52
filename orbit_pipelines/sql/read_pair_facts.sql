-- What is true of a pair today, whatever builds have made of it. A flag that the re-check of the last build over this
-- person didn't see is one that no build has taken in.
select coalesce(message.not_remembered, pair.not_remembered, false) as is_flagged,
       coalesce(not pg_visible_in_snapshot(message.flag_xid, build.recheck_snapshot), true) as flag_is_new,
       exists (select
                 from memory.pair as other
                 left join orbitpilot.message as other_message
                   on (other_message.user_id, other_message.agent_id, other_message.session_id,
                       other_message.pair_index)
                    = (other.user_id, other.agent_id, other.session_id, other.pair_index)
                where (other.user_id, other.agent_id, other.session_id)
                    = (pair.user_id, pair.agent_id, pair.session_id)
                  and coalesce(other_message.run_index, other.run_index) = coalesce(message.run_index, pair.run_index)
                  and coalesce(other_message.not_remembered, other.not_remembered, false)) as run_is_flagged,
       pair.deleted_at as pair_deleted_at,
       session.session_id is null as session_is_deleted,
       tombstone.forgotten_at as session_forgotten_at,
       status.status as source_status,
       status.reason as source_reason,
       (select kept.admitted_below
          from memory.kept_out as kept
         where (kept.user_id, kept.agent_id, kept.session_id)
             = (asked.user_id, asked.agent_id, asked.session_id)) as admitted_below
  from (select %(user)s::text, %(agent)s::text, %(session)s::text, %(pair)s::int)
       as asked (user_id, agent_id, session_id, pair_index)
  left join memory.pair as pair using (user_id, agent_id, session_id, pair_index)
  left join orbitpilot.message as message using (user_id, agent_id, session_id, pair_index)
  left join orbitpilot.session as session using (user_id, agent_id, session_id)
  left join memory.tombstone as tombstone using (user_id, agent_id, session_id)
  left join memory.source_status as status
    on status.user_id = asked.user_id and status.source_key = %(source)s and status.until_build_id is null
  left join lateral (
        select build_id from memory.watermark
         where scope in ('user:' || asked.user_id, 'bucket_000')
         order by scope = 'bucket_000'
         limit 1) as watermark on true
  left join memory.build as build on build.build_id = watermark.build_id
