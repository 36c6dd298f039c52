-- The benchmark's excluded pairs: each chosen message shall not be remembered.
update orbitpilot.message as message
   set not_remembered = true
  from chosen_message as chosen
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (chosen.user_id, chosen.agent_id, chosen.session_id, chosen.message_id)
