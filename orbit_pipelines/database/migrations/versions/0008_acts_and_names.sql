-- ---------------------------------------------------------------- for whom functions act
-- A function that runs as its owner isn't bound by row-level security. Those that the application may call look by
-- themselves at who is named in orbit.user_id, as the policies do.

-- For such functions: goes on where the caller may act for all of these people. Whoever has the owner's rights may act for
-- anybody, anybody else for the person named only. Who calls is asked of the session, for current_user is the owner here:
-- the role that was set, a superuser's too, or else the login; no such function can set another.
create function memory.require_named_person(people text[]) returns void
    language plpgsql set search_path = ''
    as $$
    declare
        caller name := coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user::text);
        person text := nullif(pg_catalog.current_setting('orbit.user_id', true), '');
    begin
        if not pg_catalog.pg_has_role(caller, current_user, 'usage')
           and not coalesce(people <@ array[person], false) then
            raise exception using
                errcode = 'insufficient_privilege',
                message = 'this is done for the person named in orbit.user_id, and for nobody else',
                hint = 'Name the person first, in the same transaction: select set_config(''orbit.user_id'', …, true)';
        end if;
    end $$;
revoke execute on function memory.require_named_person from public;

create or replace function memory.bind_sessions(owner text, agent text, sessions text[], forgotten text[]) returns void
    language sql security definer set search_path = ''
    begin atomic
        select memory.require_named_person(array[owner]);
        insert into memory.tombstone (user_id, agent_id, session_id, reason)
        select owner, agent, bound.session_id, tombstone.reason
          from unnest(sessions, forgotten) as bound (session_id, forgotten_id)
          join memory.tombstone as tombstone
            on (tombstone.user_id, tombstone.agent_id, tombstone.session_id) = (owner, agent, bound.forgotten_id)
         order by bound.session_id
            on conflict do nothing;
    end;

create or replace function memory.restore_tombstones(users text[], hashes text[]) returns bigint
    language sql security definer set search_path = ''
    begin atomic
        select memory.require_named_person(users);
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

-- Before anybody is signed in nobody is named: then these look at one account, by its name. Later, at one's own.
create or replace function orbitpilot.account_for_sign_in(signing_in text)
    returns table (user_id text, plan_key text, locale text, password_hash text)
    language sql stable strict security definer set search_path = ''
begin atomic
    select account.user_id, account.plan_key, account.locale, credential.password_hash
      from orbitpilot.account as account
      left join orbitpilot.credential as credential on credential.user_id = account.user_id
     where account.user_id = signing_in
       and coalesce(nullif(pg_catalog.current_setting('orbit.user_id', true), ''), signing_in) = signing_in;
end;

create or replace function orbitpilot.sign_up(signing_up text, chosen_password_hash text, chosen_locale text,
                                              chosen_zone text)
    returns boolean
    language sql volatile security definer set search_path = ''
begin atomic
    with made as (
        insert into orbitpilot.account (user_id, locale, time_zone)
        select signing_up, chosen_locale, chosen_zone
         where coalesce(nullif(pg_catalog.current_setting('orbit.user_id', true), ''), signing_up) = signing_up
           and not exists (select from memory.pair as pair where pair.user_id = signing_up)
           and not exists (select from memory.chunk as chunk where chunk.user_id = signing_up)
           and not exists (select from memory.tombstone as tombstone where tombstone.user_id = signing_up)
           and not exists (select from memory.embedding_cache as cache where cache.user_id = signing_up)
            on conflict do nothing
        returning user_id
    ), credential as (
        insert into orbitpilot.credential (user_id, password_hash)
        select made.user_id, chosen_password_hash
          from made
         where chosen_password_hash is not null
    )
    select exists (select from made);
end;

-- As before, but somebody's old sign-ins go only where the password is proven too.
create or replace function orbitpilot.begin_sign_in(signing_in text, known_password_hash text, lasting interval)
    returns uuid
    language sql volatile strict security definer set search_path = ''
begin atomic
    with proven as (
        select credential.user_id
          from orbitpilot.credential as credential
         where credential.user_id = signing_in and credential.password_hash = known_password_hash
           and coalesce(nullif(pg_catalog.current_setting('orbit.user_id', true), ''), signing_in) = signing_in
           for share
    ), gone as (
        delete from orbitpilot.sign_in as old
         using proven
         where old.user_id = proven.user_id and old.began_at < pg_catalog.now() - lasting
    )
    insert into orbitpilot.sign_in (user_id)
    select proven.user_id from proven
    returning sign_in_id;
end;

-- ---------------------------------------------------------------- when something was called as it was
-- Lineage has the decisions about a message under the name that its session had then, and a name may be another one's
-- before and after. By the clock and not by transactions: those of a restored dump don't go on with the original's.
alter table memory.former_session add column called_since timestamptz, add column called_until timestamptz;
comment on column memory.former_session.called_since is
    'When it got the former name, or another left it before; null where neither happened, where it had the name twice, or '
    'where that isn''t known';
comment on column memory.former_session.called_until is 'When it left the former name; null where that isn''t known';
alter table memory.former_account add column called_since timestamptz, add column called_until timestamptz;
comment on column memory.former_account.called_since is 'As of former_session';
comment on column memory.former_account.called_until is 'As of former_session';

-- As before, and when: since the last of its own former names, or since another left the name before it began there. Where
-- even the oldest of its own began at some time, it was called so before that too.
create or replace function memory.follow_session() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.former_session as known (user_id, agent_id, session_id, former_user_id, former_agent_id,
                                           former_session_id, covered_below, is_gone, is_reused, called_since,
                                           called_until)
        select new.user_id, new.agent_id, new.session_id, old.user_id, old.agent_id, old.session_id,
               coalesce(max(pg_catalog.substr(covered.source_id, pg_catalog.length(old.session_id) + 2)::int) + 1, 0),
               false, false,
               (select case when pg_catalog.count(*) = 0
                            then (select pg_catalog.max(other.called_until)
                                    from memory.former_session as other
                                   where (other.former_user_id, other.former_agent_id, other.former_session_id)
                                       = (old.user_id, old.agent_id, old.session_id))
                            when pg_catalog.bool_or(earlier.called_since is null)
                            then pg_catalog.max(earlier.called_until) end
                  from memory.former_session as earlier
                 where (earlier.user_id, earlier.agent_id, earlier.session_id)
                     = (old.user_id, old.agent_id, old.session_id)
                   and not earlier.is_gone),
               pg_catalog.clock_timestamp()
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
               covered_below, is_gone, is_reused, called_since, called_until
          from memory.former_session
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id)
           and (former_user_id, former_agent_id, former_session_id)
            <> (new.user_id, new.agent_id, new.session_id)
            on conflict (user_id, agent_id, session_id, former_user_id, former_agent_id, former_session_id) do update
           set covered_below = greatest(known.covered_below, excluded.covered_below),
               changed_xid = pg_catalog.pg_current_xact_id(),
               is_gone = known.is_gone and excluded.is_gone,
               is_reused = known.is_reused and excluded.is_reused,
               called_since = excluded.called_since,
               called_until = excluded.called_until;
        delete from memory.former_session
         where (user_id, agent_id, session_id) = (old.user_id, old.agent_id, old.session_id);
        return null;
    end $$;

create or replace function memory.follow_account() returns trigger
    language plpgsql security definer set search_path = ''
    as $$ begin
        insert into memory.former_account as known (user_id, former_user_id, is_gone, is_reused, called_since,
                                                    called_until)
        select new.user_id, old.user_id, false, false,
               (select case when pg_catalog.count(*) = 0
                            then (select pg_catalog.max(other.called_until)
                                    from memory.former_account as other
                                   where other.former_user_id = old.user_id)
                            when pg_catalog.bool_or(earlier.called_since is null)
                            then pg_catalog.max(earlier.called_until) end
                  from memory.former_account as earlier
                 where earlier.user_id = old.user_id and not earlier.is_gone),
               pg_catalog.clock_timestamp()
        union all
        select new.user_id, former_user_id, is_gone, is_reused, called_since, called_until
          from memory.former_account
         where user_id = old.user_id and former_user_id <> new.user_id
            on conflict (user_id, former_user_id) do update
           set changed_xid = pg_catalog.pg_current_xact_id(),
               is_gone = known.is_gone and excluded.is_gone,
               is_reused = known.is_reused and excluded.is_reused,
               called_since = excluded.called_since,
               called_until = excluded.called_until;
        delete from memory.former_account where user_id = old.user_id;
        return null;
    end $$;
