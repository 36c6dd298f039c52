-- Whether the account was renamed, and another one has its former name now.
exists (select
          from memory.former_account as account
          join orbitpilot.account as present on present.user_id = account.former_user_id
         where (account.user_id, account.former_user_id) = (former.user_id, former.former_user_id))
