-- The last look once more, where something moved or went between extraction and re-check: what was just written under its
-- key of then and was excluded or forgotten by the re-check, wherever it is now.
with written as (
    select * from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(session_id)s::text[], %(message_id)s::text[],
                         %(source_id)s::text[], %(has_reply)s::bool[])
        as written (user_id, agent_id, session_id, message_id, source_id, has_reply)
), left_session as (
    select distinct user_id, agent_id, session_id
      from orbitpilot.deletion
     where changed_xid >= pg_snapshot_xmin(%(extracted)s::pg_snapshot)
       and not pg_visible_in_snapshot(changed_xid, %(extracted)s::pg_snapshot)
       and pg_visible_in_snapshot(changed_xid, %(snapshot)s::pg_snapshot)
       and session_id is not null
), place as materialized (
    select user_id, agent_id, session_id,
           user_id as now_user_id, agent_id as now_agent_id, session_id as now_session_id
      from left_session
    union all
    select former_user_id, former_agent_id, former_session_id, former.user_id, former.agent_id, former.session_id
      from left_session
      join memory.former_session as former
        on (former.former_user_id, former.former_agent_id, former.former_session_id)
         = (left_session.user_id, left_session.agent_id, left_session.session_id)
     where not pg_visible_in_snapshot(former.changed_xid, %(extracted)s::pg_snapshot)
       and pg_visible_in_snapshot(former.changed_xid, %(snapshot)s::pg_snapshot)
), moved as (
    select place.user_id, place.agent_id, place.session_id || ':' || asked.pair_index as source_id,
           asked.message_id <> flagged.message_id as is_of_reply
      from place
      join orbitpilot.message as flagged
        on (flagged.user_id, flagged.agent_id, flagged.session_id)
         = (place.now_user_id, place.now_agent_id, place.now_session_id)
       and flagged.not_remembered
       and not pg_visible_in_snapshot(flagged.flag_xid, %(extracted)s::pg_snapshot)
       and pg_visible_in_snapshot(flagged.flag_xid, %(snapshot)s::pg_snapshot)
      join orbitpilot.message as asked
        on (asked.user_id, asked.agent_id, asked.session_id, asked.run_index)
         = (flagged.user_id, flagged.agent_id, flagged.session_id, flagged.run_index)
       and (asked.message_id = flagged.message_id
            or flagged.is_active and pg_visible_in_snapshot(flagged.content_xid, %(snapshot)s::pg_snapshot)
               and pg_visible_in_snapshot(asked.content_xid, %(snapshot)s::pg_snapshot))
), gone as (
    select place.user_id, place.agent_id, place.session_id || ':' || pair.pair_index as source_id
      from place cross join lateral (
        select pair.pair_index
          from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id)
             = (place.now_user_id, place.now_agent_id, place.now_session_id)
           and pair.deleted_at is not null and pair.not_remembered
        offset 0) as pair
     -- The ledger doesn't say when: where something was deleted or flagged since, the next build tells.
     where not exists (select from orbitpilot.deletion as later
                        where (later.user_id, later.agent_id, later.session_id)
                            = (place.now_user_id, place.now_agent_id, place.now_session_id)
                          and not pg_visible_in_snapshot(later.changed_xid, %(snapshot)s::pg_snapshot))
       and not exists (select from orbitpilot.message as later
                        where (later.user_id, later.agent_id, later.session_id)
                            = (place.now_user_id, place.now_agent_id, place.now_session_id)
                          and later.not_remembered
                          and not pg_visible_in_snapshot(later.flag_xid, %(snapshot)s::pg_snapshot))
), excluded as (
    select written.user_id, written.agent_id, written.source_id
      from moved join written using (user_id, agent_id, source_id)
     where written.has_reply or not moved.is_of_reply
    union
    select written.user_id, written.agent_id, written.source_id
      from gone join written using (user_id, agent_id, source_id)
)
select (select count(*) from excluded),
       (select count(*)
          from written
          join place using (user_id, agent_id, session_id)
          join memory.tombstone as tombstone
            on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
             = (place.now_user_id, place.now_agent_id, place.now_session_id)
         where not pg_visible_in_snapshot(tombstone.changed_xid, %(extracted)s::pg_snapshot)
           and pg_visible_in_snapshot(tombstone.changed_xid, %(snapshot)s::pg_snapshot)),
       0
