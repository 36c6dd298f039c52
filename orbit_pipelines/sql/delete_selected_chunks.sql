-- The chunks go, and lineage says so under a build of its own, in one statement. No hash: it would tell what went. The
-- row of a whole account's forget names nobody.
with {{selection}}, {{selected_chunks}}, gone as (
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
