-- A new do-not-remember mark flags every known user message of its session, on any branch.
with flagged as (
    update orbitpilot.message as message
       set not_remembered = true
      from incoming_session as session
      join stored_message as stored using (session_no)
     where session.is_newly_marked
       and (message.user_id, message.agent_id, message.session_id, message.message_id)
         = (%(user_id)s, %(agent_id)s, stored.session_id, stored.message_id)
       and message.role = 'user'
       and not message.not_remembered
    returning 1
)
select count(*) from flagged
