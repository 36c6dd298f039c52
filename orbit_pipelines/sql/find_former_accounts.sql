-- What an account was called before, but for names that are somebody else's now.
select former.former_user_id
  from memory.former_account as former
 where former.user_id = %(user)s
   and not exists (select from orbitpilot.account as account where account.user_id = former.former_user_id)
 order by 1
