-- Whether there is such an account, or memory still knows one that went.
select
 where exists (select from orbitpilot.account where user_id = %(user)s)
    or exists (select from memory.pair where user_id = %(user)s)
    or exists (select from memory.chunk where user_id = %(user)s)
    or exists (select from memory.store where user_id = %(user)s)
    or exists (select from memory.change where user_id = %(user)s)
    or exists (select from memory.tombstone where user_id = %(user)s)
    or exists (select from memory.forgotten_record where user_id = %(user)s)
