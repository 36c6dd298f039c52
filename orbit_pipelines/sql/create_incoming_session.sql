-- One batch of sessions as the file tells them, and what this import finds out about each. The working tables know a
-- session by its number in the batch: most of an import's work is sorting by it.
create temp table incoming_session (
    session_no int primary key,
    session_id text collate "C" not null unique,
    title text,
    channel text,
    chat_type text,
    session_kind text,
    hook_source text,
    started_at timestamptz,
    do_not_remember boolean not null,
    participants text[] not null,
    is_whole boolean not null,
    next_pair_index int not null default 0,
    is_new boolean not null default false,
    is_aligned boolean not null default false,
    is_marked boolean not null default false,
    is_newly_marked boolean not null default false,
    is_edited boolean not null default false,
    is_grown boolean not null default false
) on commit drop
