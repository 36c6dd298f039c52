-- Where a message is now whose session was called so before, and whether it is another person's there.
select former.user_id, former.agent_id, former.session_id,
       former.user_id <> former.former_user_id
       and not exists (select from memory.former_account as account
                        where (account.user_id, account.former_user_id) = (former.user_id, former.former_user_id))
           as is_of_other
  from memory.former_session as former
 where (former.former_user_id, former.former_agent_id, former.former_session_id)
     = (%(user)s, %(agent)s, %(session)s)
   and (exists (select from orbitpilot.message as message
                 where (message.user_id, message.agent_id, message.session_id, message.message_id)
                     = (former.user_id, former.agent_id, former.session_id, %(message)s))
        or exists (select from memory.pair as pair
                    where (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
                        = (former.user_id, former.agent_id, former.session_id, %(message)s)))
 order by former.called_until desc nulls last, former.session_id
 limit 1
