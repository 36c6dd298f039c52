-- Skips that hold no longer, or for another reason.
update memory.skipped as skipped
   set until_build_id = %(build_id)s
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(source_key)s::text[], %(source_id)s::text[])
        as ended (user_id, agent_id, source_key, source_id)
 where (skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id)
     = (ended.user_id, ended.agent_id, ended.source_key, ended.source_id)
   and skipped.until_build_id is null
