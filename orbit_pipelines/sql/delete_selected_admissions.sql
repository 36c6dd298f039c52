-- How much of a session memory had covered is of no more use: its tombstone outranks every rule.
delete from memory.session_admission as admission
 where admission.user_id = %(user_id)s
   and (%(is_account)s
        or (admission.agent_id, admission.session_id)
           in (select agent_id, session_id
                 from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)))
