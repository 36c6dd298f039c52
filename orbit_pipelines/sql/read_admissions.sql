-- What rules decide about the sessions of an extent: below which number their pairs stay, null where no rule keeps the
-- session out any more.
with sessions as (
    select * from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as sessions (user_id, agent_id, session_id)
), kept_out as materialized (
    select user_id, agent_id, session_id, admitted_below, is_first
      from memory.kept_out where %(is_everything)s or user_id = any(%(whole_users)s)
    union all
    select kept.user_id, kept.agent_id, kept.session_id, kept.admitted_below, kept.is_first
      from sessions join memory.kept_out as kept using (user_id, agent_id, session_id)
), held as (
    select user_id, agent_id, session_id
      from memory.session_admission where %(is_everything)s or user_id = any(%(whole_users)s)
    union all
    select user_id, agent_id, session_id
      from sessions join memory.session_admission using (user_id, agent_id, session_id)
)
select user_id, agent_id, session_id, kept_out.admitted_below
  from kept_out full join held using (user_id, agent_id, session_id)
 where kept_out.is_first is distinct from false
