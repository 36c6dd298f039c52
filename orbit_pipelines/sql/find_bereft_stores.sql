-- The stores that lost something for good since the builds that watermarks tell of, whether memory held it or not: what
-- a pair said before it was excluded, or what a build embedded before it died, may have a vector all the same.
with lost as (
    select distinct kind = 'account' as is_account, user_id, agent_id
      from orbitpilot.deletion
     where (%(everyone)s or user_id = any(%(users)s)) and user_id <> all(%(left_out)s)
)
select user_id, agent_id from lost where not is_account
union
select user_id, store.agent_id from lost join memory.store as store using (user_id) where is_account
