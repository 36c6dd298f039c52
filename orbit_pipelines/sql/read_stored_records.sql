-- What memory has of each pair and record of a person.
select user_id, agent_id, source_key, source_id, count(*) as chunks, sum(length(content)) as characters,
       bool_or(reply_message_ids <> '{}') as is_reply_stored
  from memory.chunk
 where user_id = %(user_id)s
 group by user_id, agent_id, source_key, source_id
