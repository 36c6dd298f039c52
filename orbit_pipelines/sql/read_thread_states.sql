-- All that decides the labels of one thread, in one statement however long the thread: its turns as a build extracts
-- them, what memory has of each, and whether the last build over the person has seen the flag and the text as they are.
-- What is true of the whole thread stands in "thread" of the first row.
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
), turns as (
    select message.user_id, message.agent_id, message.session_id, message.message_id, message.position,
           message.is_active, false as is_gone, message.role, message.author, message.content, message.sent_at,
           message.not_remembered, message.pair_index, message.answers, message.run_index, message.content_xid,
           message.flag_xid, message.handle
      from orbitpilot.message as message
     where (message.user_id, message.agent_id, message.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
       and message.role in ('user', 'assistant')
    union all
    select pair.user_id, pair.agent_id, pair.session_id, pair.message_id, null,
           coalesce(pair.was_active, false), true, 'user', null, null, null,
           coalesce(pair.not_remembered, false), pair.pair_index, null, coalesce(pair.run_index, pair.pair_index), null,
           null, null
      from memory.pair as pair
     where (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
       and pair.deleted_at is not null
), whole as materialized (
    select session.session_kind,
           exists (select from memory.tombstone as tombstone
                    where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        = (session.user_id, session.agent_id, session.session_id)) as is_forgotten,
           (select kept.admitted_below
              from memory.kept_out as kept
             where (kept.user_id, kept.agent_id, kept.session_id)
                 = (%(user_id)s, %(agent_id)s, %(session_id)s)) as admitted_below,
           (select mark.snapshot from mark) as snapshot,
           (select mark.recheck_snapshot from mark) as recheck_snapshot
      from orbitpilot.session as session
     where (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
), ledger as (
    select count(*) as pairs, coalesce(max(pair.pair_index) + 1, 0) as expected
      from memory.pair as pair
     where (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
), thread as (
    select ledger.pairs <> ledger.expected
        or session.next_pair_index <> ledger.expected
        or exists (select from turns
                     left join memory.pair as pair
                       on (pair.user_id, pair.agent_id, pair.session_id, pair.pair_index)
                        = (turns.user_id, turns.agent_id, turns.session_id, turns.pair_index)
                      and pair.message_id = turns.message_id and pair.deleted_at is null
                    where not turns.is_gone and turns.role = 'user' and pair.pair_index is null) as is_broken,
           (select jsonb_agg(jsonb_build_array(source.source_key, source.title, source.position,
                                               source.default_visible, source.in_rag, assignment.is_visible))
              from orbitpilot.memory_source as source
              left join orbitpilot.source_plan_assignment as assignment
                on (assignment.plan_key, assignment.source_key) = (plan.plan_key, source.source_key)) as sources,
           plan.included_sources,
           (select jsonb_agg(blink.origin_message_id)
              from orbitpilot.record as blink
             where (blink.user_id, blink.agent_id, blink.origin_session_id)
                 = (%(user_id)s, %(agent_id)s, %(session_id)s)
               and blink.source_key = 'blink.blinks' and not blink.is_excluded) as blinks,
           -- Gathered rather than joined: the planner takes a thread for short, and would look at all for each message.
           (select jsonb_object_agg(stored.source_id, stored.is_reply_stored)
              from (select chunk.source_id, bool_or(chunk.reply_message_ids <> '{}') as is_reply_stored
                      from memory.chunk as chunk
                     where (chunk.user_id, chunk.agent_id, chunk.source_key)
                         = (%(user_id)s, %(agent_id)s, 'orbitpilot.chat_history')
                       and chunk.source_id >= %(session_id)s || ':' and chunk.source_id < %(session_id)s || ';'
                     group by chunk.source_id) as stored) as stored
      from orbitpilot.session as session
      join orbitpilot.account as account using (user_id)
      join orbitpilot.plan as plan
        on plan.plan_key = coalesce(account.plan_key, (select plan_key from orbitpilot.plan where is_default))
     cross join ledger
     where (session.user_id, session.agent_id, session.session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
)
select turns.user_id, turns.agent_id, turns.session_id, turns.message_id, turns.position, turns.is_active,
       case when turns.is_gone then 'message_deleted' end as absence,
       turns.role, turns.author, turns.content, turns.sent_at, turns.not_remembered,
       turns.pair_index, turns.answers, turns.run_index,
       not pg_visible_in_snapshot(turns.content_xid, whole.snapshot) as is_content_changed,
       whole.session_kind, whole.is_forgotten, whole.admitted_below,
       turns.handle::text,
       coalesce(not pg_visible_in_snapshot(turns.flag_xid, whole.recheck_snapshot), true) as is_flag_new,
       case when row_number() over (order by turns.position, turns.message_id) = 1
            then (select to_jsonb(thread)::text from thread)
       end as thread
  from turns
 cross join whole
 order by turns.position, turns.message_id
