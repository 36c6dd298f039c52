-- Every message of the extent with its flag, none filtered, and the deleted ones from the ledger, session by session.
with sessions as (
    select * from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as sessions (user_id, agent_id, session_id)
), runs as (
    select * from unnest(%(run_user_id)s::text[], %(run_agent_id)s::text[], %(run_session_id)s::text[],
                         %(run_run_index)s::int[])
        as runs (user_id, agent_id, session_id, run_index)
), mark as (
    select * from unnest(%(mark_users)s::text[], %(mark_snapshots)s::pg_snapshot[]) as mark (user_id, snapshot)
), live as (
    select message.* from orbitpilot.message as message
     where %(is_everything)s or message.user_id = any(%(whole_users)s)
    union all
    select message.* from sessions join orbitpilot.message as message using (user_id, agent_id, session_id)
    union all
    select message.*
      from runs join orbitpilot.message as message using (user_id, agent_id, session_id, run_index)
    union all
    select reply.*
      from runs
      join orbitpilot.message as asked using (user_id, agent_id, session_id, run_index)
      join orbitpilot.message as reply
        on (reply.user_id, reply.agent_id, reply.session_id, reply.answers)
         = (asked.user_id, asked.agent_id, asked.session_id, asked.pair_index)
), gone as (
    select pair.* from memory.pair as pair
     where pair.deleted_at is not null and (%(is_everything)s or pair.user_id = any(%(whole_users)s))
    union all
    select pair.* from sessions join memory.pair as pair using (user_id, agent_id, session_id)
     where pair.deleted_at is not null
    union all
    select pair.* from runs join memory.pair as pair using (user_id, agent_id, session_id, run_index)
     where pair.deleted_at is not null
), turns as (
    select user_id, agent_id, session_id, message_id, position, is_active, false as is_gone, role, author, content,
           sent_at, not_remembered, pair_index, answers, run_index, content_xid
      from live where role in ('user', 'assistant')
    union all
    select user_id, agent_id, session_id, message_id, null, coalesce(was_active, true), true, 'user', null, null,
           null, coalesce(not_remembered, false), pair_index, null, coalesce(run_index, pair_index), null
      from gone
)
select turns.user_id, turns.agent_id, turns.session_id, turns.message_id, turns.position, turns.is_active,
       case
           when not turns.is_gone then null
           when account.user_id is null then 'account_deleted'
           when session.session_id is null then 'session_deleted'
           else 'message_deleted'
       end as absence,
       turns.role, turns.author, turns.content, turns.sent_at, turns.not_remembered,
       turns.pair_index, turns.answers, turns.run_index,
       not pg_visible_in_snapshot(turns.content_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
           as is_content_changed,
       session.session_kind,
       tombstone.session_id is not null as is_forgotten,
       admission.admitted_below
  from turns
  left join mark on mark.user_id = turns.user_id
  left join orbitpilot.account as account on turns.is_gone and account.user_id = turns.user_id
  left join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (turns.user_id, turns.agent_id, turns.session_id)
  left join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
     = (turns.user_id, turns.agent_id, turns.session_id)
  left join memory.session_admission as admission
    on (admission.user_id, admission.agent_id, admission.session_id)
     = (turns.user_id, turns.agent_id, turns.session_id)
 order by turns.user_id, turns.agent_id, turns.session_id, turns.position, turns.message_id
