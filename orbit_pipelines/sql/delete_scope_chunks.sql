-- A full rebuild takes its scope's rows away and restores them from the new extraction, in the same transaction.
delete from memory.chunk as stored
 where (%(everyone)s or stored.user_id in (select user_id from scope_user))
   and not exists (select from left_out_user as outside where outside.user_id = stored.user_id)
   and not exists (select from frozen_source as frozen
                    where (frozen.user_id, frozen.agent_id, frozen.source_key, frozen.source_id)
                        = (stored.user_id, stored.agent_id, stored.source_key, stored.source_id))
