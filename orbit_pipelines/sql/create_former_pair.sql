-- The numbers and last flags of deleted messages of a batch's sessions, for those that return.
create temp table former_pair (
    session_no int not null,
    message_id text collate "C" not null,
    pair_index int not null,
    not_remembered boolean not null,
    text_hash bytea
) on commit drop
