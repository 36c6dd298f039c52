-- The ledger's hashes of what selected sessions asked, for a forget: numbers stay.
update memory.pair as pair
   set text_hash = null
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
 where (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, sessions.agent_id, sessions.session_id)
   and pair.text_hash is not null
