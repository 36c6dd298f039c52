-- The last look before the commit: what was just written and is excluded, forgotten or renumbered, all as of the
-- re-check. What happened since waits for the next build; a pair that moved to another session or person meanwhile is
-- in the ledger no more under its old key.
with written as (
    select * from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(session_id)s::text[], %(message_id)s::text[],
                         %(source_id)s::text[], %(has_reply)s::bool[])
        as written (user_id, agent_id, session_id, message_id, source_id, has_reply)
), flagged as (
    select message.user_id, message.agent_id, message.session_id, message.message_id, message.run_index,
           message.is_active and pg_visible_in_snapshot(message.content_xid, %(snapshot)s::pg_snapshot)
               as stands_in_its_run
      from (select distinct user_id, agent_id, session_id from written) as session
      join orbitpilot.message as message using (user_id, agent_id, session_id)
     where message.not_remembered and pg_visible_in_snapshot(message.flag_xid, %(snapshot)s::pg_snapshot)
), excluded as (
    select written.user_id, written.agent_id, written.source_id
      from written join flagged using (user_id, agent_id, session_id, message_id)
    union
    select written.user_id, written.agent_id, written.source_id
      from flagged
      join orbitpilot.message as asked
        on (asked.user_id, asked.agent_id, asked.session_id, asked.run_index)
         = (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)
       and pg_visible_in_snapshot(asked.content_xid, %(snapshot)s::pg_snapshot)
      join written
        on (written.user_id, written.agent_id, written.session_id, written.message_id)
         = (asked.user_id, asked.agent_id, asked.session_id, asked.message_id)
       and written.has_reply
     where flagged.stands_in_its_run
)
select (select count(*) from excluded),
       (select count(*)
          from written join memory.tombstone using (user_id, agent_id, session_id)
         where pg_visible_in_snapshot(changed_xid, %(snapshot)s::pg_snapshot)),
       (select count(*)
          from written
          join memory.pair as pair using (user_id, agent_id, session_id, message_id)
         where written.source_id <> pair.session_id || ':' || pair.pair_index)
