-- Chunks of what a person excluded. A flag that no build has covered yet (another moment than the covering build's
-- re-check, or a run that has changed since its extraction) is pending.
with flagged as (
    select message.user_id, message.agent_id, message.session_id, message.message_id, message.pair_index,
           message.run_index, message.is_active,
           coalesce(pg_visible_in_snapshot(message.flag_xid, cover.recheck_snapshot), false) as is_flag_covered,
           coalesce(pg_visible_in_snapshot(message.content_xid, cover.snapshot), false) as is_place_covered
      from covering_build as cover join orbitpilot.message as message using (user_id)
     where message.not_remembered and message.pair_index is not null
    union all
    -- A deleted message still stands in its run with its last flag.
    select pair.user_id, pair.agent_id, pair.session_id, pair.message_id, pair.pair_index,
           coalesce(pair.run_index, pair.pair_index), coalesce(pair.was_active, true), is_covered, is_covered
      from covering_build as cover
      join memory.pair as pair using (user_id)
      cross join lateral (
            select cover.snapshot is not null
               and not exists (select from orbitpilot.deletion as deletion
                                where deletion.user_id = pair.user_id
                                  and (deletion.kind = 'account'
                                       or deletion.kind in ('session', 'message')
                                      and (deletion.agent_id, deletion.session_id) = (pair.agent_id, pair.session_id))
                                  and not pg_visible_in_snapshot(deletion.changed_xid, cover.snapshot))
                   as is_covered) as deletion
     where pair.deleted_at is not null and pair.not_remembered
), member as (
    select asked.user_id, asked.agent_id, asked.session_id, asked.pair_index,
           bool_or(flagged.is_flag_covered and flagged.is_place_covered
                   and pg_visible_in_snapshot(asked.content_xid, cover.snapshot)) as is_covered
      from flagged
      join orbitpilot.message as asked using (user_id, agent_id, session_id, run_index)
      join covering_build as cover using (user_id)
     where flagged.is_active
     group by 1, 2, 3, 4
-- Worked out by itself: joined to the chunks in one, each would read its session's messages again.
), reply as materialized (
    select message.user_id, message.agent_id, message.session_id, message.message_id,
           member.is_covered and pg_visible_in_snapshot(message.content_xid, cover.snapshot) as is_covered
      from member
      join orbitpilot.message as message
        on (message.user_id, message.agent_id, message.session_id, message.answers)
         = (member.user_id, member.agent_id, member.session_id, member.pair_index)
      join covering_build as cover on cover.user_id = message.user_id
), chat as (
    select user_id, agent_id, source_key, source_id, session_id, message_id, reply_message_ids, spans
      from checked_chunk where source_key = 'orbitpilot.chat_history'
), found as (
    select 'pair' as kind, flagged.is_flag_covered as is_covered,
           chat.user_id, chat.agent_id, chat.source_key, chat.source_id
      from flagged
      join chat on (chat.user_id, chat.agent_id, chat.source_id)
                 = (flagged.user_id, flagged.agent_id, flagged.session_id || ':' || flagged.pair_index)
    union all
    select 'pair', flagged.is_flag_covered, chat.user_id, chat.agent_id, chat.source_key, chat.source_id
      from flagged join chat using (user_id, agent_id, session_id, message_id)
    union all
    -- A reply is told by its ids and by whose words a chunk's spans are.
    select 'reply', member.is_covered, chat.user_id, chat.agent_id, chat.source_key, chat.source_id
      from member
      join chat on (chat.user_id, chat.agent_id, chat.source_id)
                 = (member.user_id, member.agent_id, member.session_id || ':' || member.pair_index)
     where cardinality(chat.reply_message_ids) > 0 or chat.spans @? '$[*][2] ? (@ == "agent")'
    union all
    select 'reply', reply.is_covered, chat.user_id, chat.agent_id, chat.source_key, chat.source_id
      from chat
      cross join lateral unnest(chat.reply_message_ids) as held (message_id)
      join reply on (reply.user_id, reply.agent_id, reply.session_id, reply.message_id)
                  = (chat.user_id, chat.agent_id, chat.session_id, held.message_id)
    union all
    select 'record', coalesce(pg_visible_in_snapshot(record.flag_xid, cover.recheck_snapshot), false),
           chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id
      from covering_build as cover
      join orbitpilot.record as record using (user_id)
      join checked_chunk as chunk using (user_id, agent_id, source_key, source_id)
     where record.is_excluded
)
select kind, bool_or(coalesce(is_covered, false)), user_id, agent_id, source_key, source_id
  from found
 group by kind, user_id, agent_id, source_key, source_id
