-- The ids that a batch's sessions show off their branch.
create temp table incoming_left_behind (
    session_no int not null,
    message_id text collate "C" not null,
    primary key (session_no, message_id)
) on commit drop
