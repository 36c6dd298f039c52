-- The tombstones of an account that was forgotten whole, where they don't name it.
insert into memory.account_tombstone (user_hash, agent_id, session_id)
select %(user_hash)s, agent_id, session_id
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
 order by 2, 3
    on conflict do nothing
