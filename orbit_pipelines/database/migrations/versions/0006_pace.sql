-- Which messages of a session are excluded; few rows, and a look that must not read the session.
create index message_excluded on orbitpilot.message (user_id, agent_id, session_id) where not_remembered;

-- Looking for vectors that nothing has used for long reads the whole cache, so it is done once a day; for the first time
-- a day from now.
alter table memory.installation add column cache_tended_at timestamptz not null default now();
