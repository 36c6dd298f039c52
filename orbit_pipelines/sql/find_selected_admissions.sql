-- How much of the selected sessions memory had covered when a rule kept them out; of a whole account of all its sessions.
select admission.agent_id, admission.session_id
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
  join memory.session_admission as admission
    on (admission.user_id, admission.agent_id, admission.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
union
select agent_id, session_id from memory.session_admission where %(is_account)s and user_id = %(user_id)s
 order by 1, 2
