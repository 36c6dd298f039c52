-- What lineage tells of an account beside its changes. While the account is there, the skips of its forgotten sessions
-- and the state of its sources are today's facts: the next build would write them again.
select agent_id, source_key, count(*)
  from memory.skipped
 where user_id = %(user)s
   and not (until_build_id is null and reason in ('session_forgotten', 'record_excluded')
            and exists (select from orbitpilot.account where user_id = %(user)s))
 group by 1, 2
union all
select '', source_key, count(*)
  from memory.source_status
 where user_id = %(user)s
   and not (until_build_id is null and exists (select from orbitpilot.account where user_id = %(user)s))
 group by 2
 order by 1, 2
