-- A new do-not-remember mark flags every user message of its session, on any branch.
with flagged as (
    update orbitpilot.message as message
       set not_remembered = true
      from incoming_session as session
     where (message.user_id, message.agent_id, message.session_id) = (%(user_id)s, %(agent_id)s, session.session_id)
       and session.is_newly_marked
       and message.role = 'user'
       and not message.not_remembered
    returning message.session_id
)
select count(*) from flagged
