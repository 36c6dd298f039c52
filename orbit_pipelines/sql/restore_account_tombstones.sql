-- The account is here again under its name, and so are its tombstones.
insert into memory.tombstone (user_id, agent_id, session_id, forgotten_at, reason)
select account.user_id, forgotten.agent_id, forgotten.session_id, forgotten.forgotten_at, 'account'
  from unnest(%(users)s::text[], %(hashes)s::text[]) as account (user_id, user_hash)
  join memory.account_tombstone as forgotten using (user_hash)
    on conflict do nothing
