-- What a check looks at when it looks at everything.
create temp view checked_chunk as select * from memory.chunk;
create temp view checked_person as
    select user_id from orbitpilot.account union select user_id from memory.chunk
