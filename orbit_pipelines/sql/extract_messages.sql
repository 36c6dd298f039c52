-- Every message of the extent with its flag, none filtered, and the deleted ones from the ledger, session by session.
-- What admission rules keep out has no text unless asked for: they are asked before any is read.
with sessions as (
    select * from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as sessions (user_id, agent_id, session_id)
), runs as (
    select * from unnest(%(run_user_id)s::text[], %(run_agent_id)s::text[], %(run_session_id)s::text[],
                         %(run_run_index)s::int[])
        as runs (user_id, agent_id, session_id, run_index)
), kept_out as (
    select * from unnest(%(kept_user_id)s::text[], %(kept_agent_id)s::text[], %(kept_session_id)s::text[],
                         %(kept_admitted_below)s::int[])
        as kept_out (user_id, agent_id, session_id, admitted_below)
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
    -- Apart for each ("offset 0"): joined, a planner that takes the deleted ones for few reads all of them each time.
    union all
    select gone.* from sessions cross join lateral (
        select pair.* from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id)
             = (sessions.user_id, sessions.agent_id, sessions.session_id)
           and pair.deleted_at is not null
        offset 0) as gone
    union all
    select gone.* from runs cross join lateral (
        select pair.* from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id, pair.run_index)
             = (runs.user_id, runs.agent_id, runs.session_id, runs.run_index)
           and pair.deleted_at is not null
        offset 0) as gone
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
           when account.user_id is null or turns.user_id = any(%(remade_users)s) then 'account_deleted'
           when session.session_id is null then 'session_deleted'
           else 'message_deleted'
       end as absence,
       turns.role, turns.author,
       case
           when %(with_kept_out)s or kept_out.session_id is null
               or coalesce(turns.pair_index, turns.answers) < kept_out.admitted_below
               then turns.content
       end as content,
       turns.sent_at, turns.not_remembered,
       turns.pair_index, turns.answers, turns.run_index,
       not pg_visible_in_snapshot(turns.content_xid, coalesce(mark.snapshot, %(bucket_snapshot)s::pg_snapshot))
           as is_content_changed,
       session.session_kind,
       tombstone.session_id is not null as is_forgotten,
       kept_out.admitted_below
  from turns
  left join mark on mark.user_id = turns.user_id
  left join orbitpilot.account as account on turns.is_gone and account.user_id = turns.user_id
  left join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (turns.user_id, turns.agent_id, turns.session_id)
  left join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
     = (turns.user_id, turns.agent_id, turns.session_id)
  left join kept_out
    on (kept_out.user_id, kept_out.agent_id, kept_out.session_id) = (turns.user_id, turns.agent_id, turns.session_id)
 order by turns.user_id, turns.agent_id, turns.session_id, turns.position, turns.message_id
