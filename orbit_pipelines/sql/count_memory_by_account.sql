-- What each person has: sessions, pairs that can still be remembered, chunks, and what stays out, by reason.
select account.user_id,
       coalesce(account.plan_key, %(default_plan)s) as plan_key,
       account.plan_key is null as is_on_default_plan,
       (select count(*) from orbitpilot.session where session.user_id = account.user_id) as sessions,
       (select count(*) from orbitpilot.message
         where message.user_id = account.user_id and message.role = 'user' and message.is_active) as pairs,
       (select count(*) from orbitpilot.record where record.user_id = account.user_id) as records,
       (select count(*) from memory.chunk where chunk.user_id = account.user_id) as chunks,
       coalesce((select jsonb_object_agg(reason, pairs order by pairs desc, reason)
                   from (select reason, count(*) as pairs
                           from memory.skipped
                          where skipped.user_id = account.user_id and skipped.until_build_id is null
                            and skipped.source_key = %(chat_history)s
                          group by reason) as by_reason), '{}') as pairs_skipped,
       coalesce((select jsonb_object_agg(reason, records order by records desc, reason)
                   from (select reason, count(*) as records
                           from memory.skipped
                          where skipped.user_id = account.user_id and skipped.until_build_id is null
                            and skipped.source_key <> %(chat_history)s
                          group by reason) as by_reason), '{}') as records_skipped
  from orbitpilot.account
 order by account.user_id
