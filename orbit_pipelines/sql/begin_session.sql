-- A session that begins now; one that was here once, and was deleted, goes on after the numbers its ledger remembers.
insert into orbitpilot.session (user_id, agent_id, session_id, started_at, next_pair_index)
select %(user_id)s, %(agent_id)s, %(session_id)s, now(), coalesce(max(pair_index) + 1, 0)
  from memory.pair
 where (user_id, agent_id, session_id) = (%(user_id)s, %(agent_id)s, %(session_id)s)
    on conflict do nothing
