-- One statement, so that what it finds and the snapshot that says up to when are the same moment. What moved or went since
-- extraction is told of under the key that it had then: for each of these there is a deletion, by which the next build
-- looks at it again.
with flagged as (
    select message.user_id, message.agent_id, message.session_id, message.pair_index, message.run_index,
           -- One that left its branch meanwhile was in its run when the run was read.
           message.is_active or not pg_visible_in_snapshot(message.content_xid, %(snapshot)s::pg_snapshot)
               as was_in_its_run
      from orbitpilot.message as message
     where message.flag_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(message.flag_xid, %(snapshot)s::pg_snapshot)
       and message.not_remembered
), excluded_run as (
    select distinct user_id, agent_id, session_id, run_index from flagged where was_in_its_run
), rearranged as (
    -- An old flag excludes replies that its run didn't have when it was read: a branch returned, or a run grew.
    select distinct changed.user_id, changed.agent_id, changed.session_id, changed.run_index
      from orbitpilot.message as changed
      join orbitpilot.message as flagged using (user_id, agent_id, session_id, run_index)
     where changed.content_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(changed.content_xid, %(snapshot)s::pg_snapshot)
       and flagged.not_remembered and flagged.is_active
), forgotten as (
    select tombstone.user_id, tombstone.agent_id, tombstone.session_id
      from memory.tombstone as tombstone
     where tombstone.changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(tombstone.changed_xid, %(snapshot)s::pg_snapshot)
), ruled as (
    select distinct user_id, agent_id, session_id
      from memory.admission_match
     where is_in_force
       and changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(changed_xid, %(snapshot)s::pg_snapshot)
), left_key as materialized (
    select deletion.user_id, deletion.agent_id, deletion.session_id, deletion.source_key, deletion.source_id,
           count(*) as times
      from orbitpilot.deletion as deletion
     where deletion.changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(deletion.changed_xid, %(snapshot)s::pg_snapshot)
       and deletion.kind <> 'account'
       and (%(everyone)s or deletion.user_id = any(%(users)s))
     group by 1, 2, 3, 4, 5
), renamed as (
    select left_key.user_id, left_key.agent_id, left_key.session_id,
           former.user_id as now_user_id, former.agent_id as now_agent_id, former.session_id as now_session_id
      from left_key
      join memory.former_session as former
        on (former.former_user_id, former.former_agent_id, former.former_session_id)
         = (left_key.user_id, left_key.agent_id, left_key.session_id)
       and not pg_visible_in_snapshot(former.changed_xid, %(snapshot)s::pg_snapshot)
    union all
    select user_id, agent_id, session_id, user_id, agent_id, session_id from left_key where session_id is not null
), place as materialized (
    -- The ledger of sessions that went before their account was renamed moved with the account alone.
    select renamed.* from renamed
    union
    select renamed.user_id, renamed.agent_id, renamed.session_id,
           account.user_id, renamed.now_agent_id, renamed.now_session_id
      from renamed
      join memory.former_account as account
        on account.former_user_id = renamed.now_user_id
       and not pg_visible_in_snapshot(account.changed_xid, %(snapshot)s::pg_snapshot)
), gone as (
    -- Excluded when they went; or in another session by themselves, where nothing is known of them.
    select place.*, pair.pair_index, pair.run_index
      from place cross join lateral (
        select pair.pair_index,
               case when coalesce(pair.was_active, true) then coalesce(pair.run_index, pair.pair_index) end as run_index
          from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id)
             = (place.now_user_id, place.now_agent_id, place.now_session_id)
           and case
                   when pair.deleted_at is not null then pair.not_remembered
                   else not exists (select from orbitpilot.message as message
                                     where (message.user_id, message.agent_id, message.session_id, message.pair_index)
                                         = (pair.user_id, pair.agent_id, pair.session_id, pair.pair_index))
               end
        offset 0) as pair
), stained_run as (
    select user_id, agent_id, session_id, now_user_id, now_agent_id, now_session_id, run_index
      from gone where run_index is not null
    union
    select place.*, excluded_run.run_index
      from place
      join excluded_run on (excluded_run.user_id, excluded_run.agent_id, excluded_run.session_id)
                         = (place.now_user_id, place.now_agent_id, place.now_session_id)
), stained as (
    select run.user_id, run.agent_id, run.session_id, member.pair_index, false as is_gone
      from stained_run as run
      join orbitpilot.message as member
        on (member.user_id, member.agent_id, member.session_id, member.run_index)
         = (run.now_user_id, run.now_agent_id, run.now_session_id, run.run_index)
    union
    select run.user_id, run.agent_id, run.session_id, member.pair_index, true
      from stained_run as run
      join memory.pair as member
        on (member.user_id, member.agent_id, member.session_id)
         = (run.now_user_id, run.now_agent_id, run.now_session_id)
       and coalesce(member.run_index, member.pair_index) = run.run_index
       and member.deleted_at is not null
), left_out as (
    select 'gone' as kind, user_id, agent_id, session_id, pair_index, true as is_gone from gone
    union all
    -- What memory holds of a run that another build read would bring its reply as well.
    select case when exists (select from memory.chunk as chunk
                              where (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                                  = (stained.user_id, stained.agent_id, 'orbitpilot.chat_history',
                                     stained.session_id || ':' || stained.pair_index)
                                and cardinality(chunk.reply_message_ids) > 0)
                then 'held_reply' else 'reply' end,
           stained.user_id, stained.agent_id, stained.session_id, stained.pair_index, stained.is_gone
      from stained
), told as (
    select 'message' as kind, member.user_id, member.agent_id, member.session_id as key, member.pair_index::text as item,
           case when member.not_remembered then 'not_remembered' else 'reply_not_remembered' end as reason
      from excluded_run
      join orbitpilot.message as member using (user_id, agent_id, session_id, run_index)
    union all
    select 'message', flagged.user_id, flagged.agent_id, flagged.session_id, flagged.pair_index::text, 'not_remembered'
      from flagged where not flagged.was_in_its_run
    union all
    select 'reply', member.user_id, member.agent_id, member.session_id, member.pair_index::text, 'reply_not_remembered'
      from rearranged
      join orbitpilot.message as member using (user_id, agent_id, session_id, run_index)
     where not member.not_remembered
    union all
    select 'tombstone', forgotten.user_id, forgotten.agent_id, forgotten.session_id, null, null
      from forgotten
    union all
    select 'message', pair.user_id, pair.agent_id, pair.session_id, pair.pair_index::text, 'session_forgotten'
      from forgotten join memory.pair as pair using (user_id, agent_id, session_id)
    union all
    select 'admission', kept.user_id, kept.agent_id, kept.session_id, kept.admitted_below::text, null
      from ruled join memory.kept_out as kept using (user_id, agent_id, session_id)
), news as (
    select * from told
    union all
    select case told.kind when 'admission' then 'former_admission' else told.kind end,
           place.user_id, place.agent_id, place.session_id, told.item, told.reason
      from place
      join told on (told.user_id, told.agent_id, told.key)
                 = (place.now_user_id, place.now_agent_id, place.now_session_id)
     where (place.user_id, place.agent_id, place.session_id)
        <> (place.now_user_id, place.now_agent_id, place.now_session_id)
    union all
    select left_out.kind, left_out.user_id, left_out.agent_id, left_out.session_id, left_out.pair_index::text,
           case
               when not left_out.is_gone then 'reply_not_remembered'
               when not exists (select from orbitpilot.account as account where account.user_id = left_out.user_id)
                   then 'account_deleted'
               when not exists (select from orbitpilot.session as session
                                 where (session.user_id, session.agent_id, session.session_id)
                                     = (left_out.user_id, left_out.agent_id, left_out.session_id))
                   then 'session_deleted'
               else 'message_deleted'
           end
      from left_out
    union all
    select 'record', record.user_id, record.agent_id, record.source_key, record.source_id, 'record_excluded'
      from orbitpilot.record as record
     where record.flag_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(record.flag_xid, %(snapshot)s::pg_snapshot)
       and record.is_excluded
    union all
    -- Nothing tells whether a record was excluded when it went. One that has another name now says so itself.
    select 'record', left_key.user_id, left_key.agent_id, left_key.source_key, left_key.source_id,
           case
               when renamed.is_excluded then 'record_excluded'
               when not exists (select from orbitpilot.account as account where account.user_id = left_key.user_id)
                   then 'account_deleted'
               else 'message_deleted'
           end
      from left_key
     cross join lateral (
        select bool_or(record.is_excluded) as is_excluded, count(*) as times
          from memory.former_record as former
          join orbitpilot.record as record
            on (record.user_id, record.agent_id, record.source_key, record.source_id)
             = (former.user_id, former.agent_id, former.source_key, former.source_id)
         where (former.former_user_id, former.former_agent_id, former.former_source_key, former.former_source_id)
             = (left_key.user_id, left_key.agent_id, left_key.source_key, left_key.source_id)
           and not former.is_gone
           and not pg_visible_in_snapshot(former.changed_xid, %(snapshot)s::pg_snapshot)) as renamed
     where left_key.source_id is not null and (renamed.is_excluded or renamed.times < left_key.times)
)
select pg_current_snapshot()::text, now(), news.*
  from (select) as always
  left join news
    on (%(everyone)s or news.user_id = any(%(users)s)) and news.user_id <> all(%(left_out)s)
