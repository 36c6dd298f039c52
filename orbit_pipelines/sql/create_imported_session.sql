-- What became of each session, over all batches of a file: it may come in several pieces.
create temp table imported_session (
    session_id text collate "C" primary key,
    is_new boolean not null,
    is_edited boolean not null,
    is_grown boolean not null
) on commit drop
