-- Who is gone needs no vector any more.
delete from memory.embedding_cache as cached
 where cached.user_id = any(%(users)s)
   and not exists (select from orbitpilot.account where account.user_id = cached.user_id)
