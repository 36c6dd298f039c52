-- The account is here again under its name, and so are its tombstones. Records that were put before anybody looked are
-- excluded now; what its owner decides once the tombstones stand is left alone.
with account as (
    select * from unnest(%(users)s::text[], %(hashes)s::text[]) as account (user_id, user_hash)
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
    select user_id, agent_id, source_key, source_id, origin_session_id, now(), 'account' from of_session
        on conflict do nothing
    returning user_id, agent_id, source_key, source_id
), excluded as (
    update orbitpilot.record as record
       set is_excluded = true
      from kept_record
     where (record.user_id, record.agent_id, record.source_key, record.source_id)
         = (kept_record.user_id, kept_record.agent_id, kept_record.source_key, kept_record.source_id)
       and not record.is_excluded
)
select (select count(*) from kept_session) + (select count(*) from kept_record)
