-- Same text, other description: nothing is embedded, the row keeps its vector.
update memory.chunk as stored
   set session_id = fresh.session_id, message_id = fresh.message_id,
       reply_message_ids = array(select jsonb_array_elements_text(fresh.reply_message_ids)),
       spans = fresh.spans, origin_class = fresh.origin_class, session_kind = fresh.session_kind,
       sent_at = fresh.sent_at, recipe = fresh.recipe, build_id = %(build_id)s
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(source_key)s::text[], %(source_id)s::text[],
              %(chunk_index)s::int[], %(session_id)s::text[], %(message_id)s::text[],
              %(spans)s::jsonb[], %(origin_class)s::text[], %(session_kind)s::text[], %(sent_at)s::timestamptz[],
              %(recipe)s::text[], %(reply_message_ids)s::jsonb[])
        as fresh (user_id, agent_id, source_key, source_id, chunk_index, session_id, message_id, spans, origin_class,
                  session_kind, sent_at, recipe, reply_message_ids)
 where (stored.user_id, stored.agent_id, stored.source_key, stored.source_id, stored.chunk_index)
     = (fresh.user_id, fresh.agent_id, fresh.source_key, fresh.source_id, fresh.chunk_index)
