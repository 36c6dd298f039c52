-- Which sessions stay out of memory from now on. A rule matches by one thing that a session says of itself, exactly, but
-- for blanks around it. Removed rules stay, so that the next build finds the sessions they let go.

create function memory.trimmed(word text) returns text
    language sql immutable strict parallel safe
    set search_path = ''
    return pg_catalog.btrim(word, E' \t\n\r\f\v');
revoke execute on function memory.trimmed from public;

create table memory.admission_rule (
    rule_id bigint generated always as identity primary key,
    user_id text collate "C" references orbitpilot.account on update cascade on delete cascade,
    agent_id text collate "C" check (agent_id <> ''),
    kind text not null check (kind in ('channel', 'chat_type', 'session_kind', 'hook_source', 'participant')),
    value text collate "C" not null check (value <> '' and value = memory.trimmed(value)),
    created_at timestamptz not null default now(),
    removed_at timestamptz,
    changed_xid xid8 not null default pg_current_xact_id()
);
comment on table memory.admission_rule is
    'Sessions that match any of these are kept out of memory; user_id and agent_id null: of everyone, of every agent';
create unique index admission_rule_in_force on memory.admission_rule (kind, value, user_id, agent_id)
    nulls not distinct where removed_at is null;
create index admission_rule_by_changed_xid on memory.admission_rule (changed_xid);

create trigger mark_changed before update on memory.admission_rule for each row
    when (old.* is distinct from new.*) execute function orbitpilot.mark_changed();
alter table memory.admission_rule enable always trigger mark_changed;

-- Everybody is bound by the rules for everyone.
alter table memory.admission_rule enable row level security;
create policy own_rows on memory.admission_rule
    using (user_id is null or user_id = (select current_setting('orbit.user_id', true)));

-- Each session with each rule that matches it. What a session doesn't say matches nothing.
create view memory.admission_match with (security_invoker = true) as
select rule.rule_id, rule.removed_at is null as is_in_force, rule.changed_xid,
       session.user_id, session.agent_id, session.session_id
  from memory.admission_rule as rule
  join orbitpilot.session as session
    on (rule.user_id is null or session.user_id = rule.user_id)
   and (rule.agent_id is null or session.agent_id = rule.agent_id)
   and case rule.kind
           when 'channel' then memory.trimmed(session.channel) = rule.value
           when 'chat_type' then memory.trimmed(session.chat_type) = rule.value
           when 'session_kind' then memory.trimmed(session.session_kind) = rule.value
           when 'hook_source' then memory.trimmed(session.hook_source) = rule.value
           else exists (select from orbitpilot.session_participant as participant
                         where (participant.user_id, participant.agent_id, participant.session_id)
                             = (session.user_id, session.agent_id, session.session_id)
                           and memory.trimmed(participant.actor_id) = rule.value)
       end;

-- The sessions that rules keep out now, each with the number below which its pairs stay: what was kept when a rule first
-- matched it, or else how many of its pairs builds have covered. What a build left out for a rule it didn't cover.
create view memory.kept_out with (security_invoker = true) as
select session.user_id, session.agent_id, session.session_id,
       coalesce(
           held.admitted_below,
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
