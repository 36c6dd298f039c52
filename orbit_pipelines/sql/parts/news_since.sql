flagged as (
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
    union all
    select 'record', record.user_id, record.agent_id, record.source_key, record.source_id, 'record_excluded'
      from orbitpilot.record as record
     where record.flag_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
       and not pg_visible_in_snapshot(record.flag_xid, %(snapshot)s::pg_snapshot)
       and record.is_excluded
)
