-- A pair's chunks in memory, and whether each carries a given reply.
select chunk_index, encode(content_hash, 'hex') as content_hash, build_id,
       %(message)s = any(reply_message_ids) as carries_message
  from memory.chunk
 where (user_id, agent_id, source_key, source_id) = (%(user)s, %(agent)s, %(source)s, %(source_id)s)
 order by chunk_index
