-- A message under whose id the file has another one goes, as any deleted message does, before that is stored.
with touched as (
    update incoming_session as incoming
       set is_edited = true
     where incoming.session_no in (select session_no from stored_message where is_another)
), forgotten as (
    delete from stored_message where is_another
)
delete from orbitpilot.message as message
 using stored_message as stored
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (%(user_id)s, %(agent_id)s, stored.session_id, stored.message_id)
   and stored.is_another
