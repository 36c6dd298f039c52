-- One batch of sessions as the file tells them, and what this import finds out about each.
create temp table incoming_session (
    session_id text collate "C" primary key,
    title text,
    channel text,
    chat_type text,
    session_kind text not null,
    hook_source text,
    started_at timestamptz,
    do_not_remember boolean not null,
    participants text[] not null,
    is_new boolean not null default false,
    is_newly_marked boolean not null default false,
    is_changed boolean not null default false
) on commit drop
