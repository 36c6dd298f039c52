-- The tombstones of records: those that a forget named, and those that were taken from a forgotten session. The owner may
-- take a record back after the forget; then its row says so, and nothing holds it any more.
create table memory.forgotten_record (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    origin_session_id text collate "C",
    forgotten_at timestamptz not null default now(),
    taken_back_at timestamptz,
    reason text,
    changed_xid xid8 not null default pg_current_xact_id(),
    primary key (user_id, agent_id, source_key, source_id)
);
comment on column memory.forgotten_record.origin_session_id is
    'The session it was taken from, known also when the record and its chunks are gone';
create index forgotten_record_by_origin on memory.forgotten_record (user_id, agent_id, origin_session_id)
    where origin_session_id is not null;
create index forgotten_record_by_changed_xid on memory.forgotten_record (changed_xid);
alter table memory.forgotten_record enable row level security;
create policy own_rows on memory.forgotten_record using (user_id = (select current_setting('orbit.user_id', true)));
create trigger mark_changed before update on memory.forgotten_record for each row
    when (old.* is distinct from new.*) execute function orbitpilot.mark_changed();
alter table memory.forgotten_record enable always trigger mark_changed;

-- What a forget of before this version took out: excluded ones stay so, and what was turned on after it was taken back.
insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id, forgotten_at,
                                     taken_back_at)
select record.user_id, record.agent_id, record.source_key, record.source_id, record.origin_session_id,
       tombstone.forgotten_at, case when not record.is_excluded then now() end
  from orbitpilot.record as record
  join memory.tombstone as tombstone
    on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
     = (record.user_id, record.agent_id, record.origin_session_id);

-- A forgotten record that is put again, and one that comes late from a forgotten session, start excluded, whoever writes.
create function memory.keep_record_out() returns trigger
    language plpgsql security definer set search_path = ''
    as $$
    declare
        known record;
    begin
        select f.taken_back_at into known
          from memory.forgotten_record as f
         where (f.user_id, f.agent_id, f.source_key, f.source_id)
             = (new.user_id, new.agent_id, new.source_key, new.source_id);
        if found then
            new.is_excluded := new.is_excluded or known.taken_back_at is null;
        elsif exists (select from memory.tombstone as t
                       where (t.user_id, t.agent_id, t.session_id)
                           = (new.user_id, new.agent_id, new.origin_session_id)) then
            insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id)
            values (new.user_id, new.agent_id, new.source_key, new.source_id, new.origin_session_id)
                on conflict do nothing;
            new.is_excluded := true;
        end if;
        return new;
    end $$;
revoke execute on function memory.keep_record_out from public;
-- Named to come before the triggers that mark what changed.
create trigger keep_out_new before insert on orbitpilot.record for each row
    execute function memory.keep_record_out();
create trigger keep_out_changed before update on orbitpilot.record for each row
    when ((old.user_id, old.agent_id, old.source_key, old.source_id, old.origin_session_id)
       is distinct from (new.user_id, new.agent_id, new.source_key, new.source_id, new.origin_session_id))
    execute function memory.keep_record_out();
alter table orbitpilot.record enable always trigger keep_out_new;
alter table orbitpilot.record enable always trigger keep_out_changed;

-- Whoever turns a forgotten record on again takes it back, and later decisions outrank earlier ones.
create function memory.take_record_back() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.forgotten_record as f
           set taken_back_at = pg_catalog.now()
         where (f.user_id, f.agent_id, f.source_key, f.source_id)
             = (new.user_id, new.agent_id, new.source_key, new.source_id)
           and f.taken_back_at is null;
        if not found then
            insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id,
                                                 taken_back_at)
            select new.user_id, new.agent_id, new.source_key, new.source_id, new.origin_session_id, pg_catalog.now()
              from memory.tombstone as t
             where (t.user_id, t.agent_id, t.session_id) = (new.user_id, new.agent_id, new.origin_session_id)
                on conflict do nothing;
        end if;
        return null;
    end $$;
revoke execute on function memory.take_record_back from public;
create trigger taken_back after update of is_excluded on orbitpilot.record for each row
    when (old.is_excluded and not new.is_excluded) execute function memory.take_record_back();
alter table orbitpilot.record enable always trigger taken_back;

-- A record that moves takes its tombstone along, as sessions do.
create function memory.move_forgotten_record() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id, forgotten_at,
                                             taken_back_at)
        select new.user_id, new.agent_id, new.source_key, new.source_id, f.origin_session_id, f.forgotten_at,
               f.taken_back_at
          from memory.forgotten_record as f
         where (f.user_id, f.agent_id, f.source_key, f.source_id)
             = (old.user_id, old.agent_id, old.source_key, old.source_id)
            on conflict do nothing;
        return null;
    end $$;
revoke execute on function memory.move_forgotten_record from public;
create trigger tombstone_moved after update on orbitpilot.record for each row
    when ((old.user_id, old.agent_id, old.source_key, old.source_id)
       is distinct from (new.user_id, new.agent_id, new.source_key, new.source_id))
    execute function memory.move_forgotten_record();
alter table orbitpilot.record enable always trigger tombstone_moved;

-- The tombstones of such an account's records, under the hash that its sessions' have.
create table memory.account_forgotten_record (
    user_hash text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    origin_session_id text collate "C",
    forgotten_at timestamptz not null default now(),
    primary key (user_hash, agent_id, source_key, source_id)
);

-- An account that comes back is known by the hash of its id, which is made where the key is: its tombstones stand under its
-- name again. Records that were put before anybody looked are excluded; what the owner decides from then on is left alone.
-- Returns how many were missing.
create function memory.restore_tombstones(users text[], hashes text[]) returns bigint
    language sql security definer set search_path = ''
    begin atomic
        with account as (
            select * from unnest(users, hashes) as account (user_id, user_hash)
        ), kept_session as (
            insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at, reason)
            select account.user_id, forgotten.agent_id, forgotten.session_id, forgotten.forgotten_at, 'account'
              from account join memory.account_tombstone as forgotten using (user_hash)
                on conflict do nothing
            returning user_id, agent_id, session_id
        ), of_session as (
            select record.user_id, record.agent_id, record.source_key, record.source_id, record.origin_session_id
              from kept_session
              join orbitpilot.record as record
                on (record.user_id, record.agent_id, record.origin_session_id)
                 = (kept_session.user_id, kept_session.agent_id, kept_session.session_id)
        ), kept_record as (
            insert into memory.forgotten_record (user_id, agent_id, source_key, source_id, origin_session_id, forgotten_at,
                                                 reason)
            select account.user_id, forgotten.agent_id, forgotten.source_key, forgotten.source_id,
                   forgotten.origin_session_id, forgotten.forgotten_at, 'account'
              from account join memory.account_forgotten_record as forgotten using (user_hash)
            union all
            select user_id, agent_id, source_key, source_id, origin_session_id, pg_catalog.now(), 'account' from of_session
                on conflict do nothing
            returning user_id, agent_id, source_key, source_id
        ), excluded as (
            update orbitpilot.record as record
               set is_excluded = true
              from kept_record
             where (record.user_id, record.agent_id, record.source_key, record.source_id)
                 = (kept_record.user_id, kept_record.agent_id, kept_record.source_key, kept_record.source_id)
               and not record.is_excluded
        ), raised as (
            -- A build that has read them already goes on without these stores.
            insert into memory.store as known (user_id, agent_id, forget_revision)
            select user_id, agent_id, 1 from kept_session union select user_id, agent_id, 1 from kept_record
                on conflict (user_id, agent_id) do update set forget_revision = known.forget_revision + 1
        )
        select (select count(*) from kept_session) + (select count(*) from kept_record);
    end;
revoke execute on function memory.restore_tombstones from public;

-- Sessions that an import brings under an id of their own, and that mean a forgotten one, are forgotten as that one is.
create function memory.bind_sessions(owner text, agent text, sessions text[], forgotten text[]) returns void
    language sql security definer set search_path = ''
    begin atomic
        insert into memory.tombstone (user_id, agent_id, session_id, reason)
        select owner, agent, bound.session_id, tombstone.reason
          from unnest(sessions, forgotten) as bound (session_id, forgotten_id)
          join memory.tombstone as tombstone
            on (tombstone.user_id, tombstone.agent_id, tombstone.session_id) = (owner, agent, bound.forgotten_id)
         order by bound.session_id
            on conflict do nothing;
    end;
revoke execute on function memory.bind_sessions from public;

-- A deleted message that comes back is known by what it said, wherever a file has it: its number and its mark return with
-- it, and with nothing else.
alter table memory.pair add column text_hash bytea;
comment on column memory.pair.text_hash is
    'A keyed hash of the message''s text, made where the key is; null where that is not known, or the session is forgotten';

create function memory.drop_outdated_text_hash() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.pair as p
           set text_hash = null
         where (p.user_id, p.agent_id, p.session_id, p.pair_index)
             = (new.user_id, new.agent_id, new.session_id, new.pair_index)
           and p.text_hash is not null;
        return null;
    end $$;
revoke execute on function memory.drop_outdated_text_hash from public;
create trigger text_hash_outdated after update of content on orbitpilot.message for each row
    when (old.content is distinct from new.content and new.pair_index is not null)
    execute function memory.drop_outdated_text_hash();
alter table orbitpilot.message enable always trigger text_hash_outdated;

create function memory.drop_forgotten_text_hashes() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        -- A tombstone waits for nobody: what an import holds just now goes with the forget's later steps.
        with free as (
            select h.user_id, h.agent_id, h.session_id, h.pair_index
              from memory.pair as h
              join new_rows as n on (n.user_id, n.agent_id, n.session_id) = (h.user_id, h.agent_id, h.session_id)
             where h.text_hash is not null
               for update of h skip locked
        )
        update memory.pair as p
           set text_hash = null
          from free as f
         where (p.user_id, p.agent_id, p.session_id, p.pair_index)
             = (f.user_id, f.agent_id, f.session_id, f.pair_index);
        return null;
    end $$;
revoke execute on function memory.drop_forgotten_text_hashes from public;
create trigger text_hashes_forgotten after insert on memory.tombstone
    referencing new table as new_rows for each statement execute function memory.drop_forgotten_text_hashes();
alter table memory.tombstone enable always trigger text_hashes_forgotten;

-- What keeps the records of an account out that was forgotten whole goes with it, as its sessions' tombstones do.
create or replace function memory.drop_tombstones_of_account() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        delete from memory.tombstone as t
         using old_rows as o
         where t.user_id = o.user_id and t.reason = 'account';
        delete from memory.forgotten_record as f
         using old_rows as o
         where f.user_id = o.user_id and f.reason = 'account';
        return null;
    end $$;

-- What sessions, records and accounts were called before: until the next build memory has them under those names, and
-- lineage for good. Of sessions with how many of their pairs builds had covered by then, so that no rule decides about
-- them anew. Gone is who has the name now and was deleted; reused is a former name under which another one was deleted.
create table memory.former_session (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    session_id text collate "C" not null,
    former_user_id text collate "C" not null,
    former_agent_id text collate "C" not null,
    former_session_id text collate "C" not null,
    covered_below int not null,
    changed_xid xid8 not null default pg_current_xact_id(),
    is_gone boolean not null default false,
    is_reused boolean not null default false,
    primary key (user_id, agent_id, session_id, former_user_id, former_agent_id, former_session_id)
);
create index former_session_by_former on memory.former_session (former_user_id, former_agent_id, former_session_id);
create table memory.former_record (
    user_id text collate "C" not null,
    agent_id text collate "C" not null,
    source_key text collate "C" not null,
    source_id text collate "C" not null,
    former_user_id text collate "C" not null,
    former_agent_id text collate "C" not null,
    former_source_key text collate "C" not null,
    former_source_id text collate "C" not null,
    changed_xid xid8 not null default pg_current_xact_id(),
    is_gone boolean not null default false,
    is_reused boolean not null default false,
    primary key (user_id, agent_id, source_key, source_id, former_user_id, former_agent_id, former_source_key,
                 former_source_id)
);
create index former_record_by_former
    on memory.former_record (former_user_id, former_agent_id, former_source_key, former_source_id);
create table memory.former_account (
    user_id text collate "C" not null,
    former_user_id text collate "C" not null,
    changed_xid xid8 not null default pg_current_xact_id(),
    is_gone boolean not null default false,
    is_reused boolean not null default false,
    primary key (user_id, former_user_id)
);
create index former_account_by_former on memory.former_account (former_user_id);
alter table memory.former_session enable row level security;
create policy own_rows on memory.former_session using (user_id = (select current_setting('orbit.user_id', true)));
alter table memory.former_record enable row level security;
create policy own_rows on memory.former_record using (user_id = (select current_setting('orbit.user_id', true)));
alter table memory.former_account enable row level security;
create policy own_rows on memory.former_account using (user_id = (select current_setting('orbit.user_id', true)));

-- What is known of the new name stays: of a session that had it before and was deleted, memory may have something left.
create function memory.follow_session() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.former_session as known (user_id, agent_id, session_id, former_user_id, former_agent_id,
                                           former_session_id, covered_below, is_gone, is_reused)
        select new.user_id, new.agent_id, new.session_id, old.user_id, old.agent_id, old.session_id,
               coalesce(max(pg_catalog.substr(covered.source_id, pg_catalog.length(old.session_id) + 2)::int) + 1, 0),
               false, false
          from (select change.source_id
                  from memory.change as change
                 where (change.user_id, change.agent_id, change.source_key)
                     = (old.user_id, old.agent_id, 'orbitpilot.chat_history')
                   and change.source_id >= old.session_id || ':' and change.source_id < old.session_id || ';'
                union all
                select skipped.source_id
                  from memory.skipped as skipped
                 where (skipped.user_id, skipped.agent_id, skipped.source_key)
                     = (old.user_id, old.agent_id, 'orbitpilot.chat_history')
                   and skipped.source_id >= old.session_id || ':' and skipped.source_id < old.session_id || ';'
                   and skipped.reason <> 'not_admitted') as covered
         where pg_catalog.substr(covered.source_id, pg_catalog.length(old.session_id) + 2) ~ '^[0-9]+$'
        union all
        select new.user_id, new.agent_id, new.session_id, former_user_id, former_agent_id, former_session_id,
               covered_below, is_gone, is_reused
          from memory.former_session
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id)
           and (former_user_id, former_agent_id, former_session_id)
            <> (new.user_id, new.agent_id, new.session_id)
            on conflict (user_id, agent_id, session_id, former_user_id, former_agent_id, former_session_id) do update
           set covered_below = greatest(known.covered_below, excluded.covered_below),
               changed_xid = pg_catalog.pg_current_xact_id(),
               is_gone = known.is_gone and excluded.is_gone,
               is_reused = known.is_reused and excluded.is_reused;
        delete from memory.former_session
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id);
        return null;
    end $$;
revoke execute on function memory.follow_session from public;
create trigger session_followed after update of user_id, agent_id, session_id on orbitpilot.session for each row
    when ((old.user_id, old.agent_id, old.session_id) is distinct from (new.user_id, new.agent_id, new.session_id))
    execute function memory.follow_session();
alter table orbitpilot.session enable always trigger session_followed;

create function memory.leave_session_names() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.former_session
           set is_gone = true
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id)
           and not is_gone;
        update memory.former_session
           set is_reused = true
         where (former_user_id, former_agent_id, former_session_id) = (old.user_id, old.agent_id, old.session_id)
           and not is_reused;
        return null;
    end $$;
revoke execute on function memory.leave_session_names from public;
create trigger session_names_left after delete on orbitpilot.session for each row
    execute function memory.leave_session_names();
alter table orbitpilot.session enable always trigger session_names_left;

create function memory.follow_record() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.former_record as known (user_id, agent_id, source_key, source_id, former_user_id,
                                                   former_agent_id, former_source_key, former_source_id, is_gone,
                                                   is_reused)
        select new.user_id, new.agent_id, new.source_key, new.source_id, old.user_id, old.agent_id, old.source_key,
               old.source_id, false, false
        union all
        select new.user_id, new.agent_id, new.source_key, new.source_id, former_user_id, former_agent_id,
               former_source_key, former_source_id, is_gone, is_reused
          from memory.former_record
         where (user_id, agent_id, source_key, source_id)
             = (old.user_id, old.agent_id, old.source_key, old.source_id)
           and (former_user_id, former_agent_id, former_source_key, former_source_id)
            <> (new.user_id, new.agent_id, new.source_key, new.source_id)
            on conflict (user_id, agent_id, source_key, source_id, former_user_id, former_agent_id, former_source_key,
                         former_source_id) do update
           set changed_xid = pg_catalog.pg_current_xact_id(),
               is_gone = known.is_gone and excluded.is_gone,
               is_reused = known.is_reused and excluded.is_reused;
        delete from memory.former_record
         where (user_id, agent_id, source_key, source_id)
             = (old.user_id, old.agent_id, old.source_key, old.source_id);
        return null;
    end $$;
revoke execute on function memory.follow_record from public;
-- Where a constraint was dropped and a key is null, it is the contract's check that tells.
create trigger record_followed after update of user_id, agent_id, source_key, source_id on orbitpilot.record for each row
    when ((old.user_id, old.agent_id, old.source_key, old.source_id)
       <> (new.user_id, new.agent_id, new.source_key, new.source_id))
    execute function memory.follow_record();
alter table orbitpilot.record enable always trigger record_followed;

create function memory.leave_record_names() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.former_record
           set is_gone = true
         where (user_id, agent_id, source_key, source_id)
             = (old.user_id, old.agent_id, old.source_key, old.source_id)
           and not is_gone;
        update memory.former_record
           set is_reused = true
         where (former_user_id, former_agent_id, former_source_key, former_source_id)
             = (old.user_id, old.agent_id, old.source_key, old.source_id)
           and not is_reused;
        return null;
    end $$;
revoke execute on function memory.leave_record_names from public;
create trigger record_names_left after delete on orbitpilot.record for each row
    execute function memory.leave_record_names();
alter table orbitpilot.record enable always trigger record_names_left;

create function memory.follow_account() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.former_account as known (user_id, former_user_id, is_gone, is_reused)
        select new.user_id, old.user_id, false, false
        union all
        select new.user_id, former_user_id, is_gone, is_reused
          from memory.former_account
         where user_id = old.user_id and former_user_id <> new.user_id
            on conflict (user_id, former_user_id) do update
           set changed_xid = pg_catalog.pg_current_xact_id(),
               is_gone = known.is_gone and excluded.is_gone,
               is_reused = known.is_reused and excluded.is_reused;
        delete from memory.former_account where user_id = old.user_id;
        return null;
    end $$;
revoke execute on function memory.follow_account from public;
create trigger account_followed after update of user_id on orbitpilot.account for each row
    when (old.user_id is distinct from new.user_id) execute function memory.follow_account();
alter table orbitpilot.account enable always trigger account_followed;

create function memory.leave_account_names() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        update memory.former_account set is_gone = true where user_id = old.user_id and not is_gone;
        update memory.former_account set is_reused = true where former_user_id = old.user_id and not is_reused;
        return null;
    end $$;
revoke execute on function memory.leave_account_names from public;
create trigger account_names_left after delete on orbitpilot.account for each row
    execute function memory.leave_account_names();
alter table orbitpilot.account enable always trigger account_names_left;

-- As before, and what was covered under a former name stays covered.
create or replace view memory.kept_out with (security_invoker = true) as
select session.user_id, session.agent_id, session.session_id,
       coalesce(
           held.admitted_below,
           greatest(
               (select max(substr(covered.source_id, length(session.session_id) + 2)::int) + 1
                  from (select change.source_id
                          from memory.change as change
                         where (change.user_id, change.agent_id, change.source_key)
                             = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
                           and change.source_id >= session.session_id || ':'
                           and change.source_id < session.session_id || ';'
                        union all
                        select skipped.source_id
                          from memory.skipped as skipped
                         where (skipped.user_id, skipped.agent_id, skipped.source_key)
                             = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
                           and skipped.source_id >= session.session_id || ':'
                           and skipped.source_id < session.session_id || ';'
                           and skipped.reason <> 'not_admitted') as covered
                 where substr(covered.source_id, length(session.session_id) + 2) ~ '^[0-9]+$'),
               (select max(former.covered_below)
                  from memory.former_session as former
                 where (former.user_id, former.agent_id, former.session_id)
                     = (session.user_id, session.agent_id, session.session_id))),
           0) as admitted_below,
       held.session_id is null as is_first
  from orbitpilot.session as session
  left join memory.session_admission as held
    on (held.user_id, held.agent_id, held.session_id) = (session.user_id, session.agent_id, session.session_id)
 where exists (select from memory.admission_match as match
                where (match.user_id, match.agent_id, match.session_id)
                    = (session.user_id, session.agent_id, session.session_id)
                  and match.is_in_force)
   and not exists (select from memory.tombstone as tombstone
                    where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        = (session.user_id, session.agent_id, session.session_id));
