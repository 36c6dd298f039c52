-- On either side: what others' records were called when they were this person's names them too.
delete from memory.former_record where %(user)s in (user_id, former_user_id)
