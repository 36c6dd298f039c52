-- As find_account_skips counts them.
delete from memory.source_status
 where user_id = %(user)s
   and not (until_build_id is null and exists (select from orbitpilot.account where user_id = %(user)s))
