-- Off the branch in the newer tree: the message keeps text, number and flag for its return.
with touched as (
    update incoming_session as incoming
       set is_edited = true
     where incoming.session_no in (select session_no from stored_message where is_left_behind and is_active)
)
update orbitpilot.message as message
   set is_active = false
  from stored_message as stored
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (%(user_id)s, %(agent_id)s, stored.session_id, stored.message_id)
   and stored.is_left_behind and stored.is_active
