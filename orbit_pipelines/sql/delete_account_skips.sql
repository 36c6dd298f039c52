-- As find_account_skips counts them.
delete from memory.skipped
 where user_id = %(user)s
   and not (until_build_id is null and reason in ('session_forgotten', 'record_excluded')
            and exists (select from orbitpilot.account where user_id = %(user)s))
