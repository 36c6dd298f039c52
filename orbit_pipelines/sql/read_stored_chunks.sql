-- The stored rows of whole people, of whole sessions, and of single sources; a row that is reached twice comes twice.
with reached as (
    select chunk.*
      from unnest(%(reached_users)s::text[]) as person (user_id) join memory.chunk as chunk using (user_id)
    union all
    select chunk.*
      from unnest(%(session_user_id)s::text[], %(session_agent_id)s::text[], %(session_session_id)s::text[])
            as session (user_id, agent_id, session_id)
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.session_id)
         = (session.user_id, session.agent_id, session.session_id)
       and chunk.source_key = 'orbitpilot.chat_history'
       and chunk.source_id >= session.session_id || ':' and chunk.source_id < session.session_id || ';'
    union all
    select chunk.*
      from unnest(%(source_user_id)s::text[], %(source_agent_id)s::text[], %(source_source_key)s::text[],
                  %(source_source_id)s::text[]) as source (user_id, agent_id, source_key, source_id)
      join memory.chunk as chunk using (user_id, agent_id, source_key, source_id)
)
select reached.user_id, reached.agent_id, reached.source_key, reached.source_id, reached.chunk_index,
       reached.content_hash, case when vector_dims(reached.embedding) = %(dimensions)s then recipe.model end,
       reached.session_id, reached.message_id, to_json(reached.reply_message_ids)::text,
       reached.spans::text, reached.origin_class, reached.session_kind, reached.sent_at, reached.recipe
  from reached left join memory.recipe as recipe on recipe.recipe = reached.recipe
