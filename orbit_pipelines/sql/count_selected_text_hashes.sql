-- How many questions of selected sessions the ledger still has a hash of.
select count(*)
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
  join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id) = (%(user_id)s, sessions.agent_id, sessions.session_id)
 where pair.text_hash is not null
