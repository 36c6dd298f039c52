-- What the web pages need: passwords, sign-in limits, a person's zone, and what administrators may count and change.

alter table orbitpilot.account
    add column is_admin boolean not null default false,
    add column time_zone text;

-- Apart from the account, so that whoever may read accounts can't read hashes; the application only by functions.
create table orbitpilot.credential (
    user_id text collate "C" primary key references orbitpilot.account on update cascade on delete cascade,
    password_hash text not null,
    changed_at timestamptz not null default now()
);
alter table orbitpilot.credential enable row level security;
create policy own_rows on orbitpilot.credential using (user_id = (select current_setting('orbit.user_id', true)));

-- Who is signed in where: a session cookie is worth what its row here is. Signing out removes one, a new password all of
-- them, and an account's end takes them along, so that whoever has its name next inherits no cookie.
create table orbitpilot.sign_in (
    sign_in_id uuid primary key default gen_random_uuid(),
    user_id text collate "C" not null references orbitpilot.account on update cascade on delete cascade,
    began_at timestamptz not null default now()
);
create index sign_in_by_user on orbitpilot.sign_in (user_id);
alter table orbitpilot.sign_in enable row level security;
create policy own_rows on orbitpilot.sign_in using (user_id = (select current_setting('orbit.user_id', true)));

-- How often somebody tried to sign in lately. A subject is a keyed digest of a name, an address, or both: the table
-- tells nothing of who they are.
create table orbitpilot.attempt (
    subject bytea primary key,
    attempts int not null,
    since timestamptz not null
);
create index attempt_by_age on orbitpilot.attempt (since);

drop function orbitpilot.account_for_sign_in(text);
create function orbitpilot.account_for_sign_in(signing_in text)
    returns table (user_id text, plan_key text, locale text, password_hash text)
    language sql stable strict security definer set search_path = ''
begin atomic
    select account.user_id, account.plan_key, account.locale, credential.password_hash
      from orbitpilot.account as account
      left join orbitpilot.credential as credential on credential.user_id = account.user_id
     where account.user_id = signing_in;
end;

-- A new account, and whether it is: false where somebody has the name. Nor is a name given again that memory or the
-- pair ledger still knows: whoever took it would find what the one before left.
create function orbitpilot.sign_up(signing_up text, chosen_password_hash text, chosen_locale text, chosen_zone text)
    returns boolean
    language sql volatile security definer set search_path = ''
begin atomic
    with made as (
        insert into orbitpilot.account (user_id, locale, time_zone)
        select signing_up, chosen_locale, chosen_zone
         where not exists (select from memory.pair as pair where pair.user_id = signing_up)
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

-- A new sign-in, where the account still has the password that was looked at: one that is just being changed is waited
-- for. Sign-ins that began too long ago go.
create function orbitpilot.begin_sign_in(signing_in text, known_password_hash text, lasting interval)
    returns uuid
    language sql volatile strict security definer set search_path = ''
begin atomic
    delete from orbitpilot.sign_in as old
     where old.user_id = signing_in and old.began_at < pg_catalog.now() - lasting;
    with proven as (
        select credential.user_id
          from orbitpilot.credential as credential
         where credential.user_id = signing_in and credential.password_hash = known_password_hash
           for share
    )
    insert into orbitpilot.sign_in (user_id)
    select proven.user_id from proven
    returning sign_in_id;
end;

-- The signed-in person's own; every sign-in from before ends with the old password, and the one returned begins.
create function orbitpilot.change_own_password(chosen_password_hash text)
    returns uuid
    language sql volatile strict security definer set search_path = ''
begin atomic
    insert into orbitpilot.credential (user_id, password_hash)
    select account.user_id, chosen_password_hash
      from orbitpilot.account as account
     where account.user_id = pg_catalog.current_setting('orbit.user_id', true)
        on conflict (user_id) do update
       set password_hash = excluded.password_hash, changed_at = pg_catalog.now();
    delete from orbitpilot.sign_in as old where old.user_id = pg_catalog.current_setting('orbit.user_id', true);
    insert into orbitpilot.sign_in (user_id)
    select account.user_id
      from orbitpilot.account as account
     where account.user_id = pg_catalog.current_setting('orbit.user_id', true)
    returning sign_in_id;
end;

-- Counts one attempt of every subject, before it is known whether it succeeds; old counts go.
create function orbitpilot.count_attempts(subjects bytea[], lasting interval)
    returns table (attempts int, seconds_left int)
    language sql volatile strict security definer set search_path = ''
begin atomic
    delete from orbitpilot.attempt as old
     where old.subject in (select stale.subject
                             from orbitpilot.attempt as stale
                            where stale.since < pg_catalog.now() - lasting and stale.subject <> all (subjects)
                            order by stale.subject
                            limit 100
                              for update skip locked);
    insert into orbitpilot.attempt as known (subject, attempts, since)
    select distinct subject, 1, pg_catalog.now() from pg_catalog.unnest(subjects) as subject order by subject
        on conflict (subject) do update
       set attempts = case when known.since < pg_catalog.now() - lasting then 1 else known.attempts + 1 end,
           since = case when known.since < pg_catalog.now() - lasting then pg_catalog.now() else known.since end;
    select known.attempts,
           pg_catalog.ceil(extract(epoch from known.since + lasting - pg_catalog.now()))::int
      from pg_catalog.unnest(subjects) with ordinality as asked (subject, place)
      join orbitpilot.attempt as known on known.subject = asked.subject
     order by asked.place;
end;

create function orbitpilot.forgive_attempts(subjects bytea[])
    returns void
    language sql volatile strict security definer set search_path = ''
begin atomic
    delete from orbitpilot.attempt as known where known.subject = any (subjects);
end;

-- How many people stand where: by their plan, by source, by the status that builds found last (null before the first).
-- The one thing that anybody learns of others; for administrators.
create function orbitpilot.count_people_by_source()
    returns table (plan_key text, source_key text, status text, people bigint)
    language plpgsql stable security definer set search_path = ''
    as $$ begin
        if not exists (select from orbitpilot.account as acting
                        where acting.user_id = pg_catalog.current_setting('orbit.user_id', true)
                          and acting.is_admin) then
            raise exception using errcode = 'insufficient_privilege', message = 'only administrators count people';
        end if;
        return query
        select plan.plan_key, source.source_key, known.status, pg_catalog.count(*)
          from orbitpilot.account as account
          join orbitpilot.plan as plan
            on plan.plan_key = coalesce(account.plan_key,
                                        (select standard.plan_key from orbitpilot.plan as standard
                                          where standard.is_default))
         cross join orbitpilot.memory_source as source
          left join memory.source_status as known
            on known.user_id = account.user_id and known.source_key = source.source_key
           and known.until_build_id is null
         group by plan.plan_key, source.source_key, known.status
         order by plan.plan_key, source.source_key, known.status;
    end $$;

-- Plans and sources: everybody reads them, administrators write them. A subquery of its own role's rights: whoever acts
-- sees their own account only.
do $$
declare
    decided regclass;
begin
    foreach decided in array array['orbitpilot.plan', 'orbitpilot.memory_source',
                                   'orbitpilot.source_plan_assignment']::regclass[]
    loop
        execute format('alter table %s enable row level security', decided);
        execute format('create policy everybody_reads on %s for select using (true)', decided);
        execute format('create policy administrators_insert on %s for insert with check ((select exists (select'
                       ' from orbitpilot.account where user_id = current_setting(''orbit.user_id'', true)'
                       ' and is_admin)))', decided);
        execute format('create policy administrators_update on %s for update using ((select exists (select'
                       ' from orbitpilot.account where user_id = current_setting(''orbit.user_id'', true)'
                       ' and is_admin)))', decided);
        execute format('create policy administrators_delete on %s for delete using ((select exists (select'
                       ' from orbitpilot.account where user_id = current_setting(''orbit.user_id'', true)'
                       ' and is_admin)))', decided);
    end loop;
end $$;

revoke execute on all functions in schema orbitpilot, memory from public;
