-- On either side, as of sessions.
delete from memory.former_account where %(user)s in (user_id, former_user_id)
