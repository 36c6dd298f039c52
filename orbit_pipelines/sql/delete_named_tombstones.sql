-- They stand under the account's hash; the next build after its return puts them up again.
delete from memory.tombstone where user_id = %(user)s and reason = 'account'
