-- Sessions whose numbers don't add up: a gap no ledger row explains, or a message the ledger knows by another number.
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
), numbered as (
    select looked_at.user_id, looked_at.agent_id, looked_at.session_id, looked_at.next_pair_index,
           count(pair.pair_index) as pairs, coalesce(max(pair.pair_index) + 1, 0) as expected
      from looked_at left join memory.pair as pair using (user_id, agent_id, session_id)
     group by 1, 2, 3, 4
)
select user_id, agent_id, session_id from numbered where pairs <> expected or next_pair_index <> expected
union
select message.user_id, message.agent_id, message.session_id
  from looked_at
  join orbitpilot.message as message using (user_id, agent_id, session_id)
  left join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id, pair.pair_index)
     = (message.user_id, message.agent_id, message.session_id, message.pair_index)
   and pair.message_id = message.message_id and pair.deleted_at is null
 where case message.role when 'user' then pair.pair_index is null else message.not_remembered end
