-- The last look before the commit: rows of this build that are excluded (as of the re-check), forgotten or renumbered.
with fresh as (
    select distinct user_id, agent_id, source_id, session_id, message_id, reply_message_ids
      from memory.chunk where build_id = %(build_id)s and source_key = 'orbitpilot.chat_history'
), flagged as (
    select user_id, agent_id, session_id, message_id, run_index
      from orbitpilot.message
     where not_remembered and is_active and pg_visible_in_snapshot(flag_xid, %(snapshot)s::pg_snapshot)
)
select (select count(*)
          from fresh join flagged using (user_id, agent_id, session_id, message_id))
     + (select count(*)
          from fresh
          join orbitpilot.message as asked using (user_id, agent_id, session_id, message_id)
          join flagged
            on (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)
             = (asked.user_id, asked.agent_id, asked.session_id, asked.run_index)
         where cardinality(fresh.reply_message_ids) > 0),
       (select count(*) from fresh join memory.tombstone using (user_id, agent_id, session_id)),
       (select count(*)
          from fresh
          left join memory.pair as pair
            on (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
             = (fresh.user_id, fresh.agent_id, fresh.session_id, fresh.message_id)
         where fresh.source_id is distinct from pair.session_id || ':' || pair.pair_index)
