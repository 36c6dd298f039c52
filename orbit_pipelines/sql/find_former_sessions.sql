-- What selected sessions were called before; and whether another session has that name now, with memory following it.
select former.former_user_id, former.former_agent_id, former.former_session_id,
       exists (select from orbitpilot.session as session
                where (session.user_id, session.agent_id, session.session_id)
                    = (former.former_user_id, former.former_agent_id, former.former_session_id)) as is_taken,
       coalesce((select pg_visible_in_snapshot(former.changed_xid, watermark.snapshot)
                   from memory.watermark as watermark
                  where watermark.scope in ('user:' || former.former_user_id, 'bucket_000')
                  order by watermark.scope = 'bucket_000'
                  limit 1), true) as is_followed
  from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
  join memory.former_session as former
    on (former.user_id, former.agent_id, former.session_id)
     = (%(user_id)s, sessions.agent_id, sessions.session_id)
 order by 1, 2, 3
