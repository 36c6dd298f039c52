-- Off the branch in the newer tree: the message keeps text, number and flag for its return.
with deactivated as (
    update orbitpilot.message as message
       set is_active = false
      from (select distinct session_id, message_id from incoming_left_behind) as gone
     where (message.user_id, message.agent_id, message.session_id, message.message_id)
         = (%(user_id)s, %(agent_id)s, gone.session_id, gone.message_id)
       and message.is_active
    returning message.session_id
), touched as (
    update incoming_session as incoming
       set is_changed = true
     where incoming.session_id in (select session_id from deactivated)
)
select count(*) from deactivated
