-- Sessions whose numbers don't add up: a gap no ledger row explains, or a message the ledger knows by another number.
-- Session by session: joined, a planner that takes sessions for short looks up every message by itself.
with sessions as (
    select * from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as sessions (user_id, agent_id, session_id)
    union
    select * from unnest(%(run_user_id)s::text[], %(run_agent_id)s::text[], %(run_session_id)s::text[])
        as runs (user_id, agent_id, session_id)
), looked_at as (
    select session.user_id, session.agent_id, session.session_id, session.next_pair_index
      from orbitpilot.session as session
     where %(is_everything)s or session.user_id = any(%(whole_users)s)
    union all
    select session.user_id, session.agent_id, session.session_id, session.next_pair_index
      from sessions join orbitpilot.session as session using (user_id, agent_id, session_id)
)
select distinct looked_at.user_id, looked_at.agent_id, looked_at.session_id
  from looked_at
 cross join lateral (
        select count(*) as pairs, coalesce(max(pair.pair_index) + 1, 0) as expected
          from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id)
             = (looked_at.user_id, looked_at.agent_id, looked_at.session_id)
       ) as ledger
 where ledger.pairs <> ledger.expected
    or looked_at.next_pair_index <> ledger.expected
    or exists (
        select from orbitpilot.message as message
         where (message.user_id, message.agent_id, message.session_id)
             = (looked_at.user_id, looked_at.agent_id, looked_at.session_id)
           and message.role <> 'user' and message.not_remembered)
    or exists (
        select message.pair_index, message.message_id
          from orbitpilot.message as message
         where (message.user_id, message.agent_id, message.session_id)
             = (looked_at.user_id, looked_at.agent_id, looked_at.session_id)
           and message.role = 'user'
        except
        select pair.pair_index, pair.message_id
          from memory.pair as pair
         where (pair.user_id, pair.agent_id, pair.session_id)
             = (looked_at.user_id, looked_at.agent_id, looked_at.session_id)
           and pair.deleted_at is null)
