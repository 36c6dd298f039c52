-- The receipts of forgets, in the order they were signed in: each names the digest of the one before. An account that
-- was forgotten whole is named by a keyed hash, and its receipts are nobody's row.
create table memory.forget (
    number bigint primary key check (number > 0),
    user_id text collate "C",
    issued_at timestamptz not null,
    digest text not null unique check (digest ~ '^[0-9a-f]{64}$'),
    previous text references memory.forget (digest),
    receipt jsonb not null,
    check ((number = 1) = (previous is null))
);
create index forget_by_user on memory.forget (user_id);
alter table memory.forget enable row level security;
create policy own_rows on memory.forget using (user_id = (select current_setting('orbit.user_id', true)));

-- A planner's statistics hold whole values, and keep them when their rows have gone. Nobody asks for a chunk by its text
-- or vector, so that none are needed.
alter table memory.chunk alter column content set statistics 0, alter column spans set statistics 0,
                         alter column embedding set statistics 0;
alter table memory.embedding_cache alter column embedding set statistics 0;
