-- Every message id a file knows, on a branch or off it: a mirroring import deletes what isn't among them.
create temp table mirrored_message (
    session_id text collate "C" not null,
    message_id text collate "C" not null
) on commit drop
