-- As of sessions.
delete from memory.forgotten_record where user_id = %(user)s and reason = 'account'
