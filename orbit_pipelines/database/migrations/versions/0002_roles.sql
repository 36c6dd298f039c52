-- Row-level security by user. Roles are made and granted after every migration, by database/roles.py: their names
-- depend on the database's, and whoever migrates may not be allowed to make any.

-- Which roles the grants were made for. In a copy of the database under another name these are the original's.
create table memory.database_role (
    kind text collate "C" primary key check (kind in ('pipeline', 'app', 'analyst')),
    role_name text not null
);

-- Not forced: a forced policy makes the owner's deletes find 0 rows, without an error. Not for a role by name: the
-- policy stands in a dump or copy whose roles are others. A scalar subquery is evaluated once a statement, and an index
-- serves it. A partition is reached through its parent; nobody but the owner is granted one.
do $$
declare
    person record;
begin
    for person in
        select c.oid::regclass as its_table
          from pg_class as c
          join pg_attribute as a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
         where c.relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace)
           and c.relkind in ('r', 'p') and not c.relispartition
    loop
        execute format('alter table %s enable row level security', person.its_table);
        execute format('create policy own_rows on %s'
                       ' using (user_id = (select current_setting(''orbit.user_id'', true)))', person.its_table);
    end loop;
end $$;

-- No column user_id, but people named in others.
alter table memory.build enable row level security;
create policy own_rows on memory.build using (
    (select current_setting('orbit.user_id', true)) <> ''
    and (scope ? 'bucket' or scope -> 'users' ? (select current_setting('orbit.user_id', true))));
alter table memory.watermark enable row level security;
create policy own_rows on memory.watermark using (
    (select current_setting('orbit.user_id', true)) <> ''
    and (starts_with(scope, 'bucket_') or scope = 'user:' || (select current_setting('orbit.user_id', true))));

-- Before anybody has signed in, no row of an account can be seen: this is the way to the one that wants to.
create function orbitpilot.account_for_sign_in(signing_in text)
    returns table (user_id text, plan_key text, locale text)
    language sql stable strict security definer set search_path = ''
begin atomic
    select account.user_id, account.plan_key, account.locale
      from orbitpilot.account as account
     where account.user_id = signing_in;
end;

-- PostgreSQL lets everybody execute a new function. A trigger function hung on a table of one's own would write other
-- people's rows.
revoke execute on all functions in schema orbitpilot, memory from public;
