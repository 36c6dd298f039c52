-- Not while a build is at work: it may have read the account's originals, and publishes what has the revision it saw.
delete from memory.store
 where user_id = %(user)s
   and not exists (select from memory.build where status = 'running')
