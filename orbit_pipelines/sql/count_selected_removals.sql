-- How many chunks of the selection lineage saw going, whoever took them: their bytes may still be there.
with {{selection}}, removals as (
    select from sessions
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key)
         = (%(user_id)s, sessions.agent_id, 'orbitpilot.chat_history')
       and change.source_id >= sessions.session_id || ':' and change.source_id < sessions.session_id || ';'
     -- Session ids may hold colons too: what stands before the last one is the session's.
     where left(change.source_id, -position(':' in reverse(change.source_id))) = sessions.session_id
       and change.action = 'removed'
    union all
    select from records
      join memory.change as change
        on (change.user_id, change.agent_id, change.source_key, change.source_id)
         = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
     where change.action = 'removed'
)
select count(*) from removals
