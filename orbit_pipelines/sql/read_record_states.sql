-- All that decides the labels of one store's records of one source, in one statement.
with newest as (
    select watermark.*
      from memory.watermark as watermark
     where watermark.scope in ('user:' || %(user_id)s, 'bucket_000')
     order by watermark.scope = 'bucket_000'
     limit 1
), mark as (
    select newest.snapshot, build.recheck_snapshot
      from newest
      join memory.build as build using (build_id)
     where newest.system_identifier = (select system_identifier::text from pg_control_system())
       and newest.database_oid = (select oid from pg_database where datname = current_database())
), thread as (
    select false as is_broken,
           (select jsonb_agg(jsonb_build_array(source.source_key, source.title, source.position,
                                               source.default_visible, source.in_rag, assignment.is_visible))
              from orbitpilot.memory_source as source
              left join orbitpilot.source_plan_assignment as assignment
                on (assignment.plan_key, assignment.source_key) = (plan.plan_key, source.source_key)) as sources,
           plan.included_sources
      from orbitpilot.account as account
      join orbitpilot.plan as plan
        on plan.plan_key = coalesce(account.plan_key, (select plan_key from orbitpilot.plan where is_default))
     where account.user_id = %(user_id)s
), recorded as (
    select record.*, origin.reason as origin,
           -- As extraction has it.
           record.is_excluded
           or origin.reason = 'session_forgotten'
              and not exists (select from memory.forgotten_record as known
                               where (known.user_id, known.agent_id, known.source_key, known.source_id)
                                   = (record.user_id, record.agent_id, record.source_key, record.source_id)
                                 and known.taken_back_at is not null) as is_kept_out
      from orbitpilot.record as record
      left join lateral (select case
               when exists (select from memory.tombstone as tombstone
                             where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                                 = (record.user_id, record.agent_id, record.origin_session_id))
               then 'session_forgotten'
               -- What a session was admitted before a rule held it, stays admitted.
               when exists (select from memory.kept_out as kept
                              left join orbitpilot.message as reply
                                on (reply.user_id, reply.agent_id, reply.session_id, reply.message_id)
                                 = (kept.user_id, kept.agent_id, kept.session_id, record.origin_message_id)
                             where (kept.user_id, kept.agent_id, kept.session_id)
                                 = (record.user_id, record.agent_id, record.origin_session_id)
                               and coalesce(reply.answers, 0) >= kept.admitted_below)
               then 'not_admitted'
           end as reason) as origin on record.origin_session_id is not null
     where (record.user_id, record.agent_id, record.source_key) = (%(user_id)s, %(agent_id)s, %(source_key)s)
)
select record.user_id, record.agent_id, record.source_key, record.source_id, record.title, record.content,
       coalesce(record.is_kept_out, false) as is_excluded, record.origin_session_id, record.origin_message_id, record.recorded_at,
       not pg_visible_in_snapshot(record.content_xid, mark.snapshot) as is_content_changed,
       coalesce(not pg_visible_in_snapshot(record.flag_xid, mark.recheck_snapshot), true) as is_flag_new,
       record.origin,
       exists (select from memory.chunk as chunk
                where (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                    = (record.user_id, record.agent_id, record.source_key, record.source_id)) as is_stored,
       case when row_number() over (order by record.source_id) = 1
            then (select to_jsonb(thread)::text from thread)
       end as thread
  from recorded as record
  left join mark on true
 order by record.source_id
