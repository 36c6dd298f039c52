-- Before anything else goes: from here on every way in finds them. One that stands already stays as it was, but for the
-- mark that the account was forgotten whole.
insert into memory.tombstone as known (user_id, agent_id, session_id, reason)
select %(user_id)s, agent_id, session_id, case when %(is_account)s then 'account' end
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
 order by 2, 3
    on conflict (user_id, agent_id, session_id) do update set reason = 'account'
 where %(is_account)s and known.reason is distinct from 'account'
