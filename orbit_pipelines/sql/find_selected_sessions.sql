-- The sessions that selectors name, byte for byte, with when they began and whether anything knows them. Of an account
-- that is taken whole: every session that the history, the ledger, memory or a tombstone knows.
with matched as (
    select %(agent)s::text collate "C" as agent_id, named as session_id
      from unnest(%(sessions)s::text[]) as named
    union
    select agent_id, session_id
      from orbitpilot.session_participant
     where (user_id, agent_id) = (%(user)s, %(agent)s) and actor_id = any(%(participants)s)
    union
    select agent_id, session_id
      from orbitpilot.session
     where (user_id, agent_id) = (%(user)s, %(agent)s) and hook_source = any(%(hook_sources)s)
    union
    select agent_id, session_id from orbitpilot.session where %(is_account)s and user_id = %(user)s
    union
    select agent_id, session_id from memory.pair where %(is_account)s and user_id = %(user)s
    union
    select agent_id, session_id
      from memory.chunk
     where %(is_account)s and user_id = %(user)s and source_key = 'orbitpilot.chat_history' and session_id is not null
    union
    select agent_id, session_id from memory.tombstone where %(is_account)s and user_id = %(user)s
)
select matched.agent_id, matched.session_id, session.started_at,
       session.session_id is not null
       or exists (select from memory.pair as pair
                   where (pair.user_id, pair.agent_id, pair.session_id)
                       = (%(user)s, matched.agent_id, matched.session_id))
       or exists (select from memory.chunk as chunk
                   where (chunk.user_id, chunk.agent_id, chunk.source_key)
                       = (%(user)s, matched.agent_id, 'orbitpilot.chat_history')
                     and chunk.source_id >= matched.session_id || ':' and chunk.source_id < matched.session_id || ';'
                     and chunk.session_id = matched.session_id) as is_known
  from matched
  left join orbitpilot.session as session
    on (session.user_id, session.agent_id, session.session_id) = (%(user)s, matched.agent_id, matched.session_id)
 order by matched.agent_id, matched.session_id
