-- As recheck_exclusions, all in one statement again, where something moved or went since extraction: that is told of under
-- the key that it had then as well. For each such key there is a deletion, by which the next build looks at it again.
with {{news_since}}, left_key as materialized (
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
), news as (
    select * from told
    union all
    select case told.kind when 'admission' then 'former_admission' else told.kind end,
           place.user_id, place.agent_id, place.session_id, told.item, told.reason
      from place
      join told on (told.user_id, told.agent_id, told.key)
                 = (place.now_user_id, place.now_agent_id, place.now_session_id)
       and told.kind <> 'record'
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
select pg_current_snapshot()::text, now(), true as has_departures, news.*
  from (select) as always
  left join news
    on (%(everyone)s or news.user_id = any(%(users)s)) and news.user_id <> all(%(left_out)s)
