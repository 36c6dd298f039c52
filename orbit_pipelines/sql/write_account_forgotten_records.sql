-- The tombstones of an account's records, as they stand under its name by now, where they don't name it.
insert into memory.account_forgotten_record (user_hash, agent_id, source_key, source_id, origin_session_id)
select %(user_hash)s, agent_id, source_key, source_id, known.origin_session_id
  from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
       as records (agent_id, source_key, source_id)
  join memory.forgotten_record as known using (agent_id, source_key, source_id)
 where known.user_id = %(user_id)s
 order by 2, 3, 4
    on conflict do nothing
