-- The benchmark's edited pairs: each chosen message says something else.
update orbitpilot.message as message
   set content = chosen.content
  from chosen_message as chosen
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (chosen.user_id, chosen.agent_id, chosen.session_id, chosen.message_id)
