-- New skips; one that goes on for the same reason is not touched.
insert into memory.skipped (user_id, agent_id, source_key, source_id, reason, since_build_id)
select fresh.user_id, fresh.agent_id, fresh.source_key, fresh.source_id, fresh.reason, %(build_id)s
  from fresh_skip as fresh
 where not exists (select from memory.skipped as known
                    where (known.user_id, known.agent_id, known.source_key, known.source_id)
                        = (fresh.user_id, fresh.agent_id, fresh.source_key, fresh.source_id)
                      and known.until_build_id is null)
