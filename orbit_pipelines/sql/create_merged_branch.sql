-- The active branch of each session of a batch, what is stored and what the file brings put into one order.
create temp table merged_branch (
    session_no int not null,
    session_id text collate "C" not null,
    message_id text collate "C" not null,
    role text not null,
    position int not null,
    pair_index int,
    run_index int,
    answers int,
    not_remembered boolean not null,
    is_known boolean not null,
    is_numbered_anew boolean not null,
    is_edited boolean not null,
    is_beginning boolean not null,
    is_returning boolean not null,
    is_moved boolean not null,
    primary key (session_id, message_id)
) on commit drop
