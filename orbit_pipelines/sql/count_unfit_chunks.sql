-- The last look before the commit: what was just written and is excluded, forgotten or renumbered, all as of the
-- re-check. What happened since waits for the next build; a pair that moved to another session or person meanwhile is
-- in the ledger no more under its old key.
with flagged as (
    select user_id, agent_id, session_id, message_id, run_index,
           is_active and pg_visible_in_snapshot(content_xid, %(snapshot)s::pg_snapshot) as stands_in_its_run
      from orbitpilot.message
     where not_remembered and pg_visible_in_snapshot(flag_xid, %(snapshot)s::pg_snapshot)
), excluded as (
    select written.user_id, written.agent_id, written.source_id
      from written_pair as written join flagged using (user_id, agent_id, session_id, message_id)
    union
    select written.user_id, written.agent_id, written.source_id
      from written_pair as written
      join orbitpilot.message as asked using (user_id, agent_id, session_id, message_id)
      join flagged
        on (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)
         = (asked.user_id, asked.agent_id, asked.session_id, asked.run_index)
     where written.has_reply and flagged.stands_in_its_run
       and pg_visible_in_snapshot(asked.content_xid, %(snapshot)s::pg_snapshot)
)
select (select count(*) from excluded),
       (select count(*)
          from written_pair join memory.tombstone using (user_id, agent_id, session_id)
         where pg_visible_in_snapshot(changed_xid, %(snapshot)s::pg_snapshot)),
       (select count(*)
          from written_pair as written
          join memory.pair as pair using (user_id, agent_id, session_id, message_id)
         where written.source_id <> pair.session_id || ':' || pair.pair_index)
