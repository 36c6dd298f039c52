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
