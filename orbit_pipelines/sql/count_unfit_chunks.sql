-- The last look before the commit: what was just written and is excluded (as of the re-check), forgotten or renumbered.
with flagged as (
    select user_id, agent_id, session_id, message_id, run_index, is_active
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
     where written.has_reply and flagged.is_active
)
select (select count(*) from excluded),
       (select count(*) from written_pair join memory.tombstone using (user_id, agent_id, session_id)),
       (select count(*)
          from written_pair as written
          left join memory.pair as pair
            on (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
             = (written.user_id, written.agent_id, written.session_id, written.message_id)
         where written.source_id is distinct from pair.session_id || ':' || pair.pair_index)
