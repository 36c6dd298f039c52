-- Skips of the scope that hold no longer, or for another reason.
with reached as (
    select skipped.ctid from memory.skipped as skipped where %(everyone)s and skipped.until_build_id is null
    union
    select skipped.ctid from scope_user join memory.skipped as skipped using (user_id)
     where skipped.until_build_id is null
    union
    select skipped.ctid
      from scope_source join memory.skipped as skipped using (user_id, agent_id, source_key, source_id)
     where skipped.until_build_id is null
    union
    select skipped.ctid
      from scope_session as session
      join memory.skipped as skipped
        on (skipped.user_id, skipped.agent_id, skipped.source_key)
         = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
       and skipped.source_id >= session.session_id || ':' and skipped.source_id < session.session_id || ';'
       and substr(skipped.source_id, length(session.session_id) + 2) ~ '^[0-9]+$'
     where skipped.until_build_id is null
)
update memory.skipped as skipped
   set until_build_id = %(build_id)s
  from reached
 where skipped.ctid = reached.ctid
   and not exists (select from left_out_user as outside where outside.user_id = skipped.user_id)
   and not exists (select from fresh_skip as fresh
                    where (fresh.user_id, fresh.agent_id, fresh.source_key, fresh.source_id, fresh.reason)
                        = (skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id, skipped.reason))
