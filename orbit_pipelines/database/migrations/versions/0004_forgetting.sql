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

-- A forget that takes chunks away has a row among the builds, so that lineage replays through it.
alter table memory.build drop constraint build_mode_check;
alter table memory.build add constraint build_mode_check check (mode in ('incremental', 'full', 'forget'));

-- What of memory was caught from a session, and what changes of it are waiting: found without reading the store.
create index chunk_by_origin on memory.chunk (user_id, agent_id, session_id)
    where source_key <> 'orbitpilot.chat_history';
create index deletion_by_session on orbitpilot.deletion (user_id, agent_id, session_id) where session_id is not null;

-- The tombstones of accounts that were forgotten whole, under a keyed hash of the user id.
create table memory.account_tombstone (
    user_hash text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    forgotten_at timestamptz not null default now(),
    primary key (user_hash, agent_id, session_id)
);

-- While such an account is there, its tombstones stand under its name too; they go with it.
create function memory.drop_tombstones_of_account() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        delete from memory.tombstone as t
         using old_rows as o
         where t.user_id = o.user_id and t.reason = 'account';
        return null;
    end $$;
revoke execute on function memory.drop_tombstones_of_account from public;
create trigger forgotten_account_went after delete on orbitpilot.account
    referencing old table as old_rows for each statement execute function memory.drop_tombstones_of_account();
alter table orbitpilot.account enable always trigger forgotten_account_went;

-- Under another name they are no longer the forgotten account's, whose hash wouldn't find them: they stay for good.
create function memory.keep_moved_tombstones() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.tombstone as t set reason = null where t.user_id = new.user_id and t.reason = 'account';
        return null;
    end $$;
revoke execute on function memory.keep_moved_tombstones from public;
-- Named to come after the triggers that take the tombstones along.
create trigger tombstones_moved after update of user_id on orbitpilot.account for each row
    when (old.user_id is distinct from new.user_id) execute function memory.keep_moved_tombstones();
create trigger tombstones_moved after update of user_id on orbitpilot.session for each row
    when (old.user_id is distinct from new.user_id) execute function memory.keep_moved_tombstones();
alter table orbitpilot.account enable always trigger tombstones_moved;
alter table orbitpilot.session enable always trigger tombstones_moved;
