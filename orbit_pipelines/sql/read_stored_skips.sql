-- The skips in force of whole people, of whole sessions, and of single sources; one that is reached twice comes twice.
-- The pairs of a session are told by their ids: digits after the session's own.
select skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id, skipped.reason
  from unnest(%(reached_users)s::text[]) as person (user_id) join memory.skipped as skipped using (user_id)
 where skipped.until_build_id is null
union all
select skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id, skipped.reason
  from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
        as session (user_id, agent_id, session_id)
  join memory.skipped as skipped
    on (skipped.user_id, skipped.agent_id, skipped.source_key)
     = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
   and skipped.source_id >= session.session_id || ':' and skipped.source_id < session.session_id || ';'
   and substr(skipped.source_id, length(session.session_id) + 2) ~ '^[0-9]+$'
 where skipped.until_build_id is null
union all
select skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id, skipped.reason
  from unnest(%(source_user_id)s::text[], %(source_agent_id)s::text[], %(source_source_key)s::text[],
              %(source_source_id)s::text[]) as source (user_id, agent_id, source_key, source_id)
  join memory.skipped as skipped using (user_id, agent_id, source_key, source_id)
 where skipped.until_build_id is null
