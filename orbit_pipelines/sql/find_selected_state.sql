-- What imports and change detection keep of the selected sessions.
with sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
)
select 'deletion', deletion.agent_id, deletion.session_id, count(*)
  from sessions
  join orbitpilot.deletion as deletion
    on (deletion.user_id, deletion.agent_id, deletion.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
 group by 2, 3
union all
select 'admission', admission.agent_id, admission.session_id, 1
  from sessions
  join memory.session_admission as admission
    on (admission.user_id, admission.agent_id, admission.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
 order by 1, 2, 3
