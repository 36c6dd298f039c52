-- The application's own data (orbitpilot) and what is made of it (memory).
-- Keys are `collate "C"` whatever the database's own collation: equal bytes are equal keys, and a range scan over a
-- session's source ids is a range of bytes.

create schema orbitpilot;
create schema memory;
create extension if not exists vector;

-- ---------------------------------------------------------------- orbitpilot

-- Which of an installation's 1,024 slots a person falls in, for ever: ranges of slots are buckets.
create function orbitpilot.slot_of(user_id text) returns smallint
    language sql immutable strict parallel safe
    set search_path = ''
    return ((pg_catalog.get_byte(pg_catalog.sha256(pg_catalog.convert_to(user_id, 'UTF8')), 0) * 256
           + pg_catalog.get_byte(pg_catalog.sha256(pg_catalog.convert_to(user_id, 'UTF8')), 1)) % 1024)::smallint;

create table orbitpilot.plan (
    plan_key text collate "C" primary key check (plan_key <> ''),
    title text not null,
    included_sources int not null default 3 check (included_sources >= 0),
    is_default boolean not null default false
);
create unique index plan_has_one_default on orbitpilot.plan (is_default) where is_default;

create table orbitpilot.account (
    user_id text collate "C" primary key check (user_id <> ''),
    plan_key text collate "C" references orbitpilot.plan on update cascade on delete set null,
    locale text not null default 'en',
    slot smallint not null generated always as (orbitpilot.slot_of(user_id)) stored,
    changed_xid xid8 not null default pg_current_xact_id()
);
create index account_by_slot on orbitpilot.account (slot);
create index account_by_plan on orbitpilot.account (plan_key);
create index account_by_changed_xid on orbitpilot.account (changed_xid);

create table orbitpilot.memory_source (
    source_key text collate "C" primary key check (source_key <> ''),
    title text not null,
    position int not null unique deferrable initially immediate,
    default_visible boolean not null,
    in_rag boolean not null default true
);

create table orbitpilot.source_plan_assignment (
    plan_key text collate "C" not null references orbitpilot.plan on update cascade on delete cascade,
    source_key text collate "C" not null references orbitpilot.memory_source on update cascade on delete cascade,
    is_visible boolean not null,
    primary key (plan_key, source_key)
);

create table orbitpilot.session (
    user_id text collate "C" not null references orbitpilot.account on update cascade on delete cascade,
    agent_id text collate "C" not null default 'orbitpilot' check (agent_id <> ''),
    session_id text collate "C" not null check (session_id <> ''),
    title text,
    channel text,
    chat_type text,
    session_kind text not null default 'chat',
    hook_source text,
    started_at timestamptz,
    closed_at timestamptz,
    next_pair_index int not null default 0 check (next_pair_index >= 0),
    do_not_remember boolean not null default false,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, session_id)
);
comment on column orbitpilot.session.do_not_remember is
    'An import saw the conversation marked so; the flags stand on its messages, and the same mark again changes none.';
create index session_by_changed_xid on orbitpilot.session (changed_xid);

create table orbitpilot.session_participant (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    actor_id text collate "C" not null,
    primary key (user_id, agent_id, session_id, actor_id),
    foreign key (user_id, agent_id, session_id) references orbitpilot.session on update cascade on delete cascade
);

create table orbitpilot.message (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    message_id text collate "C" not null check (message_id <> ''),
    handle uuid not null unique default gen_random_uuid(),
    parent_id text collate "C",
    position int not null,
    is_active boolean not null default true,
    role text not null check (role in ('user', 'assistant', 'system', 'developer', 'tool')),
    author text,
    content text not null,
    sent_at timestamptz,
    is_partial boolean not null default false,
    not_remembered boolean not null default false,
    pair_index int check (pair_index >= 0),
    answers int check (answers >= 0),
    run_index int check (run_index >= 0),
    content_xid xid8 not null default pg_current_xact_id(),
    flag_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, session_id, message_id),
    foreign key (user_id, agent_id, session_id) references orbitpilot.session on update cascade on delete cascade,
    constraint a_pair_is_a_user_message check ((role = 'user') = (pair_index is not null)),
    constraint a_run_is_of_user_messages check ((role = 'user') = (run_index is not null)),
    constraint only_replies_answer check (answers is null or role = 'assistant'),
    constraint only_user_messages_are_flagged check (role = 'user' or not not_remembered)
);
comment on column orbitpilot.message.run_index is
    'The pair_index of the first user message of the run this one belongs to: user messages in a row that one reply answers.';
create unique index message_by_pair on orbitpilot.message (user_id, agent_id, session_id, pair_index)
    where pair_index is not null;
create index message_by_content_xid on orbitpilot.message (content_xid);
create index message_by_flag_xid on orbitpilot.message (flag_xid);

create table orbitpilot.record (
    user_id text collate "C" not null references orbitpilot.account on update cascade on delete cascade,
    agent_id text collate "C" not null default 'orbitpilot' check (agent_id <> ''),
    source_key text collate "C" not null references orbitpilot.memory_source on update cascade on delete cascade,
    source_id text collate "C" not null check (source_id <> ''),
    title text,
    content text not null,
    is_excluded boolean not null default false,
    origin_session_id text collate "C",
    origin_message_id text collate "C",
    recorded_at timestamptz not null default now(),
    content_xid xid8 not null default pg_current_xact_id(),
    flag_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, source_key, source_id),
    constraint chat_history_is_no_record check (source_key <> 'orbitpilot.chat_history')
);
create index record_by_content_xid on orbitpilot.record (content_xid);
create index record_by_flag_xid on orbitpilot.record (flag_xid);
create index record_by_origin on orbitpilot.record (user_id, agent_id, origin_session_id)
    where origin_session_id is not null;

-- What is gone, for the next build: one row a key and statement, written by triggers only.
create table orbitpilot.deletion (
    deletion_id bigint generated always as identity primary key,
    kind text not null check (kind in ('account', 'session', 'message', 'record')),
    user_id text collate "C" not null,
    agent_id text collate "C",
    session_id text collate "C",
    source_key text collate "C",
    source_id text collate "C",
    changed_xid xid8 not null default pg_current_xact_id()
);
create index deletion_by_changed_xid on orbitpilot.deletion (changed_xid);

-- ---------------------------------------------------------------- memory

-- The pair ledger: numbers that never move and are never reused. No text; outlives its message, and then keeps what
-- the message last said of itself, because a deleted message still stands in its run with its last flag.
create table memory.pair (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    pair_index int not null check (pair_index >= 0),
    message_id text collate "C" not null,
    not_remembered boolean,
    run_index int,
    was_active boolean,
    deleted_at timestamptz,
    primary key (user_id, agent_id, session_id, pair_index),
    unique (user_id, agent_id, session_id, message_id)
);
create index pair_deleted on memory.pair (user_id, agent_id, session_id) where deleted_at is not null;

create table memory.installation (
    is_the_one boolean primary key default true check (is_the_one),
    hash_key_fingerprint text,
    buckets int not null default 1 check (buckets between 1 and 1024)
);
insert into memory.installation default values;

create table memory.recipe (
    recipe text collate "C" primary key,
    model text not null,
    dimensions int not null check (dimensions > 0),
    details jsonb not null,
    first_seen_at timestamptz not null default now()
);

create table memory.build (
    build_id bigint generated always as identity primary key,
    dagster_run_id text,
    mode text not null check (mode in ('incremental', 'full')),
    scope jsonb not null,
    status text not null default 'running'
        check (status in ('running', 'published', 'unchanged', 'superseded', 'unpublished', 'failed', 'died')),
    publish_order bigint unique,
    snapshot pg_snapshot,
    recheck_snapshot pg_snapshot,
    recipe text collate "C" references memory.recipe,
    executor text,
    workspace text,
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    published_at timestamptz,
    finished_at timestamptz,
    note text,
    records int,
    added int,
    removed int,
    updated int,
    unchanged int,
    skipped int,
    embedded int,
    from_cache int,
    superseded_stores int
);
comment on column memory.build.scope is '{"bucket": 0} for everyone in a bucket, {"users": [...]} for some people';
create sequence memory.publish_order as bigint owned by memory.build.publish_order;
create index build_running on memory.build (build_id) where status = 'running';

create table memory.store (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    forget_revision bigint not null default 0,
    primary key (user_id, agent_id)
);

create table memory.chunk (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    chunk_index int not null check (chunk_index >= 0),
    content_hash bytea not null,
    session_id text collate "C",
    message_id text collate "C",
    reply_message_ids text[] collate "C" not null default '{}',
    content text not null,
    spans jsonb not null,
    embedding halfvec not null,
    language text,
    origin_class text not null check (origin_class in ('owner', 'agent', 'untrusted', 'system')),
    session_kind text,
    sent_at timestamptz,
    recipe text collate "C" not null,
    build_id bigint not null,
    primary key (user_id, agent_id, source_key, source_id, chunk_index)
);
-- Whether a store already has a vector of a text, and whether a cached vector is still referenced.
create index chunk_by_hash on memory.chunk (user_id, agent_id, content_hash);
comment on column memory.chunk.spans is
    'The parts of the content in order, [[start, end, origin class], ...] in characters';

create table memory.embedding_cache (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    model text collate "C" not null,
    content_hash bytea not null,
    embedding halfvec not null,
    used_at timestamptz not null default now(),
    primary key (user_id, agent_id, model, content_hash)
);

-- A row only when a person's status for a source changes; the newest row by publish order is in force.
create table memory.source_status (
    user_id text collate "C" not null,
    source_key text collate "C" not null,
    status text not null check (status in ('included', 'not_included')),
    reason text check (reason in ('source_switched_off', 'source_not_assigned', 'source_over_cap')),
    since_build_id bigint not null references memory.build,
    until_build_id bigint references memory.build,
    primary key (user_id, source_key, since_build_id),
    check ((status = 'included') = (reason is null))
);
create unique index source_status_in_force on memory.source_status (user_id, source_key) where until_build_id is null;

-- What left and what came, key by key: written in the publishing transaction, never rewritten.
create table memory.change (
    build_id bigint not null,
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    chunk_index int not null,
    content_hash bytea,
    action text not null check (action in ('added', 'removed', 'updated')),
    reason text not null,
    changed_at timestamptz not null,
    unique (user_id, agent_id, source_key, source_id, build_id, chunk_index, action, changed_at)
) partition by range (changed_at);
create table memory.change_default partition of memory.change default;
create index change_by_build on memory.change (build_id);

-- A record (or a pair's reply) that stays out, from one build until another.
create table memory.skipped (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    reason text not null,
    since_build_id bigint not null references memory.build,
    until_build_id bigint references memory.build,
    primary key (user_id, agent_id, source_key, source_id, since_build_id)
);
create unique index skipped_in_force on memory.skipped (user_id, agent_id, source_key, source_id)
    where until_build_id is null;

-- How far memory has followed the application's data. A person's own row stands instead of the bucket's.
create table memory.watermark (
    scope text collate "C" primary key check (scope ~ '^(bucket_[0-9]{3,4}|user:.+)$'),
    snapshot pg_snapshot not null,
    system_identifier text not null,
    database_oid oid not null,
    recipe text collate "C" not null,
    plan_statuses jsonb not null,
    build_id bigint not null references memory.build
);

create table memory.tombstone (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    forgotten_at timestamptz not null default now(),
    reason text,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, session_id)
);
create index tombstone_by_changed_xid on memory.tombstone (changed_xid);

-- For a session that an admission rule matches: pairs below this number were in memory before and stay.
create table memory.session_admission (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    admitted_below int not null check (admitted_below >= 0),
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, session_id)
);
create index session_admission_by_changed_xid on memory.session_admission (changed_xid);

-- ---------------------------------------------------------------- change capture
-- Inserts are marked by column defaults. Updates are marked only where something of that kind differs, so that an
-- upsert that changes nothing wakes no build. `enable always`: replication and restores must not slip by.

create function orbitpilot.mark_content() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin new.content_xid := pg_catalog.pg_current_xact_id(); return new; end $$;

create function orbitpilot.mark_flag() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin new.flag_xid := pg_catalog.pg_current_xact_id(); return new; end $$;

create function orbitpilot.mark_changed() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin new.changed_xid := pg_catalog.pg_current_xact_id(); return new; end $$;

create function orbitpilot.refuse_truncate() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        raise exception 'truncate of %.% is refused: builds would not see what went', tg_table_schema, tg_table_name
            using hint = 'Delete the rows instead.';
    end $$;

create trigger mark_content before update on orbitpilot.message for each row
    when ((old.user_id, old.agent_id, old.session_id, old.message_id, old.position, old.is_active, old.role, old.author,
           old.content, old.sent_at, old.pair_index, old.answers, old.run_index)
       is distinct from
          (new.user_id, new.agent_id, new.session_id, new.message_id, new.position, new.is_active, new.role, new.author,
           new.content, new.sent_at, new.pair_index, new.answers, new.run_index))
    execute function orbitpilot.mark_content();
create trigger mark_flag before update on orbitpilot.message for each row
    when (old.not_remembered is distinct from new.not_remembered)
    execute function orbitpilot.mark_flag();

create trigger mark_content before update on orbitpilot.record for each row
    when ((old.user_id, old.agent_id, old.source_key, old.source_id, old.title, old.content, old.origin_session_id,
           old.origin_message_id, old.recorded_at)
       is distinct from
          (new.user_id, new.agent_id, new.source_key, new.source_id, new.title, new.content, new.origin_session_id,
           new.origin_message_id, new.recorded_at))
    execute function orbitpilot.mark_content();
create trigger mark_flag before update on orbitpilot.record for each row
    when (old.is_excluded is distinct from new.is_excluded)
    execute function orbitpilot.mark_flag();

create trigger mark_changed before update on orbitpilot.account for each row
    when ((old.user_id, old.plan_key) is distinct from (new.user_id, new.plan_key))
    execute function orbitpilot.mark_changed();
create trigger mark_changed before update on orbitpilot.session for each row
    when ((old.user_id, old.agent_id, old.session_id, old.channel, old.chat_type, old.session_kind, old.hook_source,
           old.started_at)
       is distinct from
          (new.user_id, new.agent_id, new.session_id, new.channel, new.chat_type, new.session_kind, new.hook_source,
           new.started_at))
    execute function orbitpilot.mark_changed();
create trigger mark_changed before update on memory.tombstone for each row
    when (old.* is distinct from new.*) execute function orbitpilot.mark_changed();
create trigger mark_changed before update on memory.session_admission for each row
    when (old.* is distinct from new.*) execute function orbitpilot.mark_changed();

-- A participant that comes or goes changes its session: provenance and admission read them.
create function orbitpilot.mark_session_of_participant() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        if tg_op in ('INSERT', 'UPDATE') then
            update orbitpilot.session as s set changed_xid = pg_catalog.pg_current_xact_id()
             where (s.user_id, s.agent_id, s.session_id) in (select n.user_id, n.agent_id, n.session_id from new_rows n)
               and s.changed_xid <> pg_catalog.pg_current_xact_id();
        end if;
        if tg_op in ('DELETE', 'UPDATE') then
            update orbitpilot.session as s set changed_xid = pg_catalog.pg_current_xact_id()
             where (s.user_id, s.agent_id, s.session_id) in (select o.user_id, o.agent_id, o.session_id from old_rows o)
               and s.changed_xid <> pg_catalog.pg_current_xact_id();
        end if;
        return null;
    end $$;
create trigger participant_came after insert on orbitpilot.session_participant
    referencing new table as new_rows for each statement execute function orbitpilot.mark_session_of_participant();
create trigger participant_went after delete on orbitpilot.session_participant
    referencing old table as old_rows for each statement execute function orbitpilot.mark_session_of_participant();
create trigger participant_changed after update on orbitpilot.session_participant
    referencing old table as old_rows new table as new_rows for each statement
    execute function orbitpilot.mark_session_of_participant();

-- Deleted messages: the ledger keeps number, last flag and place; the session is read whole by the next build.
create function orbitpilot.record_message_deletion() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, session_id)
        select distinct 'message', o.user_id, o.agent_id, o.session_id from old_rows as o;
        update memory.pair as p
           set deleted_at = pg_catalog.now(), not_remembered = o.not_remembered, run_index = o.run_index,
               was_active = o.is_active
          from old_rows as o
         where (p.user_id, p.agent_id, p.session_id, p.pair_index)
             = (o.user_id, o.agent_id, o.session_id, o.pair_index);
        return null;
    end $$;
create trigger message_went after delete on orbitpilot.message
    referencing old table as old_rows for each statement execute function orbitpilot.record_message_deletion();

-- A message that changes its key (with its session, or alone): its old session lost something.
create function orbitpilot.record_message_move() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, session_id)
        select distinct 'message', o.user_id, o.agent_id, o.session_id
          from old_rows as o
         where not exists (select from new_rows as n
                            where (n.user_id, n.agent_id, n.session_id, n.message_id)
                                = (o.user_id, o.agent_id, o.session_id, o.message_id));
        return null;
    end $$;
create trigger message_moved after update on orbitpilot.message
    referencing old table as old_rows new table as new_rows for each statement
    execute function orbitpilot.record_message_move();

create function orbitpilot.rename_in_ledger() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.pair as p set message_id = new.message_id
         where (p.user_id, p.agent_id, p.session_id, p.pair_index)
             = (new.user_id, new.agent_id, new.session_id, new.pair_index);
        return null;
    end $$;
create trigger message_renamed after update of message_id on orbitpilot.message for each row
    when (old.message_id is distinct from new.message_id and new.pair_index is not null)
    execute function orbitpilot.rename_in_ledger();

create function orbitpilot.record_session_deletion() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, session_id)
        select 'session', o.user_id, o.agent_id, o.session_id from old_rows as o;
        return null;
    end $$;
create trigger session_went after delete on orbitpilot.session
    referencing old table as old_rows for each statement execute function orbitpilot.record_session_deletion();

-- A session that moves to another person or agent takes its numbers, its tombstone and its admission along.
create function orbitpilot.move_session() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, session_id)
        values ('session', old.user_id, old.agent_id, old.session_id);
        update memory.pair set user_id = new.user_id, agent_id = new.agent_id, session_id = new.session_id
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id);
        insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at, reason)
        select new.user_id, new.agent_id, new.session_id, t.forgotten_at, t.reason
          from memory.tombstone as t
         where (t.user_id, t.agent_id, t.session_id) = (old.user_id, old.agent_id, old.session_id)
            on conflict do nothing;
        insert into memory.session_admission (user_id, agent_id, session_id, admitted_below)
        select new.user_id, new.agent_id, new.session_id, a.admitted_below
          from memory.session_admission as a
         where (a.user_id, a.agent_id, a.session_id) = (old.user_id, old.agent_id, old.session_id)
            on conflict do nothing;
        return null;
    end $$;
create trigger session_moved after update of user_id, agent_id, session_id on orbitpilot.session for each row
    when ((old.user_id, old.agent_id, old.session_id) is distinct from (new.user_id, new.agent_id, new.session_id))
    execute function orbitpilot.move_session();

create function orbitpilot.record_account_deletion() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id) select 'account', o.user_id from old_rows as o;
        return null;
    end $$;
create trigger account_went after delete on orbitpilot.account
    referencing old table as old_rows for each statement execute function orbitpilot.record_account_deletion();

-- A renamed account's sessions move by the cascade, before this. What outlived its session moves here: numbers stay
-- taken, and forgotten stays forgotten.
create function orbitpilot.record_account_move() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id) values ('account', old.user_id);
        update memory.pair set user_id = new.user_id where user_id = old.user_id;
        insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at, reason)
        select new.user_id, t.agent_id, t.session_id, t.forgotten_at, t.reason
          from memory.tombstone as t
         where t.user_id = old.user_id
            on conflict do nothing;
        insert into memory.session_admission (user_id, agent_id, session_id, admitted_below)
        select new.user_id, a.agent_id, a.session_id, a.admitted_below
          from memory.session_admission as a
         where a.user_id = old.user_id
            on conflict do nothing;
        return null;
    end $$;
create trigger account_moved after update of user_id on orbitpilot.account for each row
    when (old.user_id is distinct from new.user_id) execute function orbitpilot.record_account_move();

create function orbitpilot.record_record_deletion() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, source_key, source_id)
        select 'record', o.user_id, o.agent_id, o.source_key, o.source_id from old_rows as o;
        return null;
    end $$;
create trigger record_went after delete on orbitpilot.record
    referencing old table as old_rows for each statement execute function orbitpilot.record_record_deletion();

create function orbitpilot.record_record_move() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into orbitpilot.deletion (kind, user_id, agent_id, source_key, source_id)
        values ('record', old.user_id, old.agent_id, old.source_key, old.source_id);
        return null;
    end $$;
create trigger record_moved after update of user_id, agent_id, source_key, source_id on orbitpilot.record for each row
    when ((old.user_id, old.agent_id, old.source_key, old.source_id)
       is distinct from (new.user_id, new.agent_id, new.source_key, new.source_id))
    execute function orbitpilot.record_record_move();

create trigger refuse_truncate before truncate on orbitpilot.account execute function orbitpilot.refuse_truncate();
create trigger refuse_truncate before truncate on orbitpilot.session execute function orbitpilot.refuse_truncate();
create trigger refuse_truncate before truncate on orbitpilot.session_participant
    execute function orbitpilot.refuse_truncate();
create trigger refuse_truncate before truncate on orbitpilot.message execute function orbitpilot.refuse_truncate();
create trigger refuse_truncate before truncate on orbitpilot.record execute function orbitpilot.refuse_truncate();
create trigger refuse_truncate before truncate on memory.pair execute function orbitpilot.refuse_truncate();

do $$
declare captured record;
begin
    for captured in
        select t.tgrelid::regclass as on_table, t.tgname
          from pg_trigger as t join pg_class as c on c.oid = t.tgrelid join pg_namespace as n on n.oid = c.relnamespace
         where n.nspname in ('orbitpilot', 'memory') and not t.tgisinternal and t.tgparentid = 0
    loop
        execute format('alter table %s enable always trigger %I', captured.on_table, captured.tgname);
    end loop;
end $$;

-- ---------------------------------------------------------------- what every installation starts with

insert into orbitpilot.memory_source (source_key, title, position, default_visible, in_rag) values
    ('blink.blinks', 'Blinks', 1, true, true),
    ('files.documents', 'Documents', 2, true, true),
    ('profile.facts', 'Profile facts', 3, true, true),
    ('orbitpilot.chat_history', 'Chat history', 4, true, true);

insert into orbitpilot.plan (plan_key, title, included_sources, is_default) values ('default', 'Default', 4, true);
