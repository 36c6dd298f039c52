-- The ids that a batch's sessions show off their branch.
create temp table incoming_left_behind (
    session_id text collate "C" not null,
    message_id text collate "C" not null
) on commit drop
