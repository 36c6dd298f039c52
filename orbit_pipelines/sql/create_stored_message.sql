-- What was stored of a batch's sessions before it, and what the file does to it. The key is that of the table itself:
-- however little the planner knows of that, no join between the two reads one once for every row of the other.
create temp table stored_message (
    session_no int not null,
    session_id text collate "C" not null,
    message_id text collate "C" not null,
    parent_id text collate "C",
    role text not null,
    position int not null,
    is_active boolean not null,
    pair_index int,
    run_index int,
    answers int,
    not_remembered boolean not null,
    is_edited boolean not null,
    is_reworded boolean not null,
    is_beginning boolean not null,
    is_misplaced boolean not null,
    is_returning boolean not null,
    is_another boolean not null,
    is_left_behind boolean not null,
    primary key (session_id, message_id)
) on commit drop
