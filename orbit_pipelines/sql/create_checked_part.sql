-- What a check looks at after a build of part of memory: the sources it may have changed, and whatever is stored of them.
create temp table checked_user (user_id text collate "C") on commit drop;
create temp table checked_session (user_id text collate "C", agent_id text collate "C", session_id text collate "C")
    on commit drop;
create temp table checked_source (user_id text collate "C", agent_id text collate "C", source_key text collate "C",
    source_id text collate "C", unique (user_id, agent_id, source_key, source_id)) on commit drop;
create temp view checked_chunk as
    select chunk.* from checked_source join memory.chunk as chunk using (user_id, agent_id, source_key, source_id);
create temp view checked_person as
    select user_id from checked_user
    union select user_id from checked_session
    union select user_id from checked_source
