-- What rules decide about the sessions of an extent: below which number their pairs stay, null where no rule keeps the
-- session out any more; and whether the publish has that to write down. Of single runs it only has to be known.
with sessions as (
    select *, true as is_whole
      from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as sessions (user_id, agent_id, session_id)
    union all
    select distinct *, false
      from unnest(%(run_user_id)s::text[], %(run_agent_id)s::text[], %(run_session_id)s::text[])
        as runs (user_id, agent_id, session_id)
), kept_out as materialized (
    select user_id, agent_id, session_id, admitted_below, is_first
      from memory.kept_out where %(is_everything)s or user_id = any(%(whole_users)s)
    union all
    select kept.user_id, kept.agent_id, kept.session_id, kept.admitted_below, kept.is_first and sessions.is_whole
      from sessions join memory.kept_out as kept using (user_id, agent_id, session_id)
), held as (
    select user_id, agent_id, session_id
      from memory.session_admission where %(is_everything)s or user_id = any(%(whole_users)s)
    union all
    select held.user_id, held.agent_id, held.session_id
      from sessions join memory.session_admission as held using (user_id, agent_id, session_id)
     where sessions.is_whole
)
select user_id, agent_id, session_id, kept_out.admitted_below, kept_out.is_first is distinct from false
  from kept_out full join held using (user_id, agent_id, session_id)
