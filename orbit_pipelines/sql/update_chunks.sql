-- Same text, other description: nothing is embedded, the row keeps its vector.
update memory.chunk as stored
   set session_id = fresh.session_id, message_id = fresh.message_id, reply_message_ids = fresh.reply_message_ids,
       spans = fresh.spans, origin_class = fresh.origin_class, session_kind = fresh.session_kind,
       sent_at = fresh.sent_at, recipe = fresh.recipe, build_id = %(build_id)s
  from updated_chunk as fresh
 where (stored.user_id, stored.agent_id, stored.source_key, stored.source_id, stored.chunk_index)
     = (fresh.user_id, fresh.agent_id, fresh.source_key, fresh.source_id, fresh.chunk_index)
