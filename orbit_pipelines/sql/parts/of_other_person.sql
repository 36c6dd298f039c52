-- Whether it moved to another person; a person whose account was renamed is the same.
(former.user_id <> former.former_user_id
 and not exists (select from memory.former_account as account
                  where (account.user_id, account.former_user_id) = (former.user_id, former.former_user_id)))
