-- A full rebuild takes its scope's rows away, a stretch of user ids at a time, and restores them from the new extraction
-- in the same transaction. The frozen ones, of quarantined sessions, stay as they are.
delete from memory.chunk as stored
 where (%(everyone)s or stored.user_id = any(%(users)s)) and stored.user_id <> all(%(left_out)s)
   and (%(after)s::text is null or stored.user_id > %(after)s)
   and (%(until)s::text is null or stored.user_id <= %(until)s)
   and not exists (
        select from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(source_key)s::text[], %(source_id)s::text[])
                    as frozen (user_id, agent_id, source_key, source_id)
         where (frozen.user_id, frozen.agent_id, frozen.source_key, frozen.source_id)
             = (stored.user_id, stored.agent_id, stored.source_key, stored.source_id))
