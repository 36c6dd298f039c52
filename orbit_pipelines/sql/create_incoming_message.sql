-- One batch of messages; place is a message's index in its session's branch, as the file has it;
-- is_placed says that its id was made from it; text_hash is a user message's.
create temp table incoming_message (
    session_no int not null,
    place int not null,
    message_id text collate "C" not null,
    parent_id text collate "C",
    role text not null,
    author text,
    content text not null,
    sent_at timestamptz,
    is_partial boolean not null,
    is_placed boolean not null,
    text_hash bytea,
    primary key (session_no, message_id)
) on commit drop
