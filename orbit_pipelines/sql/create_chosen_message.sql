-- The messages that one of the benchmark's edits changes.
create temp table chosen_message (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    message_id text collate "C" not null,
    content text
) on commit drop
