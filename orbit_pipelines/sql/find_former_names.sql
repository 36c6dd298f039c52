-- What the person's sessions, records and account were called before, and what others have that was once theirs; not the names.
select 'session:' || agent_id || '/' || session_id as name, count(*)
  from memory.former_session as former
 where former.user_id = %(user)s
    or former.former_user_id = %(user)s
       and not exists (select from memory.former_account as account
                        where (account.user_id, account.former_user_id) = (former.user_id, former.former_user_id))
 group by 1
union all
select 'record:' || agent_id || '/' || source_key || '/' || source_id, count(*)
  from memory.former_record as former
 where former.user_id = %(user)s
    or former.former_user_id = %(user)s
       and not exists (select from memory.former_account as account
                        where (account.user_id, account.former_user_id) = (former.user_id, former.former_user_id))
 group by 1
union all
select 'account', count(*) from memory.former_account where user_id = %(user)s having count(*) > 0
 order by 1
