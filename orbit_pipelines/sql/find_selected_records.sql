-- The records that are named, known or not, and those that were taken from a selected session and are, or ever were, in
-- memory or would get there: found also when a forget stopped between two kinds, by what it wrote before. What its owner
-- took back after its session was forgotten isn't the session's any more. An account's are all of them, by the same rule.
with sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
), named as (
    select %(agent)s::text as agent_id, source_key, source_id
      from unnest(%(sources)s::text[], %(ids)s::text[]) as named (source_key, source_id)
), remembered as (
    -- Two ranges rather than an inequality, which no index serves.
    select chunk.agent_id, chunk.source_key, chunk.source_id, chunk.session_id
      from sessions
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.session_id) = (%(user)s, sessions.agent_id, sessions.session_id)
     where chunk.source_key <> 'orbitpilot.chat_history'
    union
    select agent_id, source_key, source_id, session_id
      from memory.chunk
     where %(is_account)s and user_id = %(user)s and source_key <> 'orbitpilot.chat_history'
), written as (
    select record.agent_id, record.source_key, record.source_id, record.origin_session_id
      from sessions
      join orbitpilot.record as record
        on (record.user_id, record.agent_id, record.origin_session_id)
         = (%(user)s, sessions.agent_id, sessions.session_id)
     where not record.is_excluded
        or exists (select from memory.change as change
                    where (change.user_id, change.agent_id, change.source_key, change.source_id)
                        = (record.user_id, record.agent_id, record.source_key, record.source_id))
    union
    select agent_id, source_key, source_id, origin_session_id
      from orbitpilot.record
     where %(is_account)s and user_id = %(user)s
), forgotten as (
    select known.agent_id, known.source_key, known.source_id, known.origin_session_id
      from sessions
      join memory.forgotten_record as known
        on (known.user_id, known.agent_id, known.origin_session_id)
         = (%(user)s, sessions.agent_id, sessions.session_id)
    union
    select agent_id, source_key, source_id, origin_session_id
      from memory.forgotten_record
     where %(is_account)s and user_id = %(user)s
), touched as (
    select * from remembered union select * from written union select * from forgotten
)
select 'named' as how, named.agent_id, named.source_key, named.source_id,
       exists (select from orbitpilot.record as record
                where (record.user_id, record.agent_id, record.source_key, record.source_id)
                    = (%(user)s, named.agent_id, named.source_key, named.source_id))
       or exists (select from memory.chunk as chunk
                   where (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                       = (%(user)s, named.agent_id, named.source_key, named.source_id)
                     and chunk.source_key <> 'orbitpilot.chat_history')
       or exists (select from memory.change as change
                   where (change.user_id, change.agent_id, change.source_key, change.source_id)
                       = (%(user)s, named.agent_id, named.source_key, named.source_id)
                     and change.source_key <> 'orbitpilot.chat_history')
       or exists (select from memory.forgotten_record as known
                   where (known.user_id, known.agent_id, known.source_key, known.source_id)
                       = (%(user)s, named.agent_id, named.source_key, named.source_id)) as is_known
  from named
union
select case when bool_or(exists (select from sessions
                                  where (sessions.agent_id, sessions.session_id)
                                      = (touched.agent_id, touched.session_id))) then 'caught' else 'named' end,
       touched.agent_id, touched.source_key, touched.source_id, true
  from touched
 where %(is_account)s
    or not exists (select from memory.forgotten_record as known
                     join memory.tombstone as tombstone
                       on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        = (known.user_id, known.agent_id, touched.session_id)
                    where (known.user_id, known.agent_id, known.source_key, known.source_id)
                        = (%(user)s, touched.agent_id, touched.source_key, touched.source_id)
                      and known.taken_back_at is not null)
 group by touched.agent_id, touched.source_key, touched.source_id
