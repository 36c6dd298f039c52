-- The chunks go, and lineage says so under a build of its own, in one statement. No hash: it would tell what went. The
-- row of a whole account's forget names nobody.
with sessions as (
    select agent_id, session_id
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
), records as (
    select agent_id, source_key, source_id
      from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])
           as records (agent_id, source_key, source_id)
), reached as (
    select chunk.ctid as place
      from sessions
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.session_id)
         = (%(user_id)s, sessions.agent_id, 'orbitpilot.chat_history', sessions.session_id)
       and chunk.source_id >= sessions.session_id || ':' and chunk.source_id < sessions.session_id || ';'
    union
    select chunk.ctid
      from sessions
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.session_id) = (%(user_id)s, sessions.agent_id, sessions.session_id)
     where chunk.source_key <> 'orbitpilot.chat_history'
       -- What its owner took back after the forget stays.
       and not exists (select from memory.forgotten_record as known
                        where (known.user_id, known.agent_id, known.source_key, known.source_id)
                            = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
                          and known.taken_back_at is not null)
    union
    select chunk.ctid
      from records
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id)
         = (%(user_id)s, records.agent_id, records.source_key, records.source_id)
    union
    select chunk.ctid from memory.chunk as chunk where %(is_account)s and chunk.user_id = %(user_id)s
), gone as (
    delete from memory.chunk as chunk using reached
     where chunk.ctid = reached.place
    returning chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index,
              encode(chunk.content_hash, 'hex') as hash
), build as (
    insert into memory.build (mode, scope, status, publish_order, published_at, finished_at, note,
                              records, added, removed, updated, skipped, embedded, from_cache)
    select 'forget',
           case when %(is_account)s then '{"users": []}'
                else jsonb_build_object('users', jsonb_build_array(%(user_id)s::text)) end,
           'published',
           nextval('memory.publish_order'), now(), now(), 'a forget, not a build', 0, 0, count(*), 0, 0, 0, 0
      from gone
    having count(*) > 0
    returning build_id
), told as (
    insert into memory.change (build_id, user_id, agent_id, source_key, source_id, chunk_index, content_hash, action,
                               reason, changed_at)
    select build.build_id, %(user_id)s, gone.agent_id, gone.source_key, gone.source_id, gone.chunk_index, null,
           'removed',
           case gone.source_key when 'orbitpilot.chat_history' then 'session_forgotten' else 'record_excluded' end,
           now()
      from gone cross join build
)
select agent_id, source_key, source_id, chunk_index, hash from gone order by 1, 2, 3, 4
