-- What the file lacks, in sessions it holds; the deletion's trigger writes the ledger.
with deleted as (
    delete from orbitpilot.message as message
     using imported_session as session
     where (message.user_id, message.agent_id, message.session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
       and not exists (select from mirrored_message as kept
                        where (kept.session_id, kept.message_id) = (message.session_id, message.message_id))
    returning message.session_id
), touched as (
    update imported_session as session
       set is_edited = true
     where session.session_id in (select session_id from deleted)
)
select count(*) from deleted
