-- What an account was called, and when: the newest first.
select former.former_user_id, former.called_since, former.called_until
  from memory.former_account as former
 where former.user_id = %(user)s
   and former.is_gone <> exists (select from orbitpilot.account as account where account.user_id = former.user_id)
 order by former.called_until desc nulls last, former.former_user_id
