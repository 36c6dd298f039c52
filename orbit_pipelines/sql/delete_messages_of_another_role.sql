-- An id that was a question and is now a reply, or the reverse, is another message: ids made from places can do that.
with deleted as (
    delete from orbitpilot.message as message
     using incoming_message as incoming
     where (message.user_id, message.agent_id, message.session_id, message.message_id)
         = (%(user_id)s, %(agent_id)s, incoming.session_id, incoming.message_id)
       and message.role <> incoming.role
    returning message.session_id
), touched as (
    update incoming_session as incoming
       set is_changed = true
     where incoming.session_id in (select session_id from deleted)
)
select count(*) from deleted
