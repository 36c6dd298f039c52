-- What a session is and was called, and when, each name once in the end: the present one first, then its own former ones,
-- then, of a deleted session, those under the names that its person's account had after that.
with asked as (
    select %(user)s::text collate "C" as user_id, %(agent)s::text collate "C" as agent_id,
           %(session)s::text collate "C" as session_id
), present as (
    select exists (select from orbitpilot.session as session
                    where (session.user_id, session.agent_id, session.session_id)
                        = (asked.user_id, asked.agent_id, asked.session_id)) as is_here
      from asked
), account as (
    select former.former_user_id, former.called_since, former.called_until
      from memory.former_account as former
      join asked on asked.user_id = former.user_id
), name as (
    select 1 as place, asked.*, null::timestamptz as called_since, null::timestamptz as called_until from asked
    union all
    select 2, former.former_user_id, former.former_agent_id, former.former_session_id, former.called_since,
           former.called_until
      from memory.former_session as former
      join asked on (asked.user_id, asked.agent_id, asked.session_id)
                  = (former.user_id, former.agent_id, former.session_id)
      join present on present.is_here <> former.is_gone
    union all
    select 3, account.former_user_id, asked.agent_id, asked.session_id, account.called_since, account.called_until
      from account, asked
      join present on not present.is_here
    union all
    select 4, former.former_user_id, former.former_agent_id, former.former_session_id, former.called_since,
           former.called_until
      from account, asked
      join memory.former_session as former on (former.agent_id, former.session_id) = (asked.agent_id, asked.session_id)
      join present on not present.is_here
     where former.user_id = account.former_user_id and former.is_gone
)
select name.user_id, name.agent_id, name.session_id, name.called_since, name.called_until,
       name.user_id not in (select user_id from asked union all select former_user_id from account) as is_of_other
  from name
 order by name.place, name.called_until desc nulls last, name.user_id, name.agent_id, name.session_id
