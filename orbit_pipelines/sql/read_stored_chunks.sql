-- The stored rows of the extent: of whole people, of whole sessions, and of single sources. Each row once.
with reached as (
    select chunk.ctid from scope_user join memory.chunk as chunk using (user_id)
    union
    select chunk.ctid
      from scope_session as session
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.session_id)
         = (session.user_id, session.agent_id, session.session_id)
       and chunk.source_key = 'orbitpilot.chat_history'
       and chunk.source_id >= session.session_id || ':' and chunk.source_id < session.session_id || ';'
    union
    select chunk.ctid
      from scope_source join memory.chunk as chunk using (user_id, agent_id, source_key, source_id)
)
select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index, chunk.content_hash,
       recipe.model, chunk.session_id, chunk.message_id, chunk.reply_message_ids, chunk.spans::text,
       chunk.origin_class, chunk.session_kind, chunk.sent_at, chunk.recipe
  from reached
  join memory.chunk as chunk on chunk.ctid = reached.ctid
  left join memory.recipe as recipe on recipe.recipe = chunk.recipe
 where not exists (select from left_out_user as outside where outside.user_id = chunk.user_id)
   and not exists (select from frozen_source as frozen
                    where (frozen.user_id, frozen.agent_id, frozen.source_key, frozen.source_id)
                        = (chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id))
