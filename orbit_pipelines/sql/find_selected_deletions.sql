-- The deletions that change detection keeps of the selection, of a whole account all, and whether a forget should have
-- taken them. An original that is deleted after its forget writes one that the next build needs, and that holds keys
-- alone: it is none of what a forget takes.
with reached as (
    select deletion.*
      from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as sessions (agent_id, session_id)
      join orbitpilot.deletion as deletion
        on (deletion.user_id, deletion.agent_id, deletion.session_id)
         = (%(user_id)s, sessions.agent_id, sessions.session_id)
    union
    select * from orbitpilot.deletion where %(is_account)s and user_id = %(user_id)s
), dated as (
    select reached.*,
           case when session_id is null
                then (select max(changed_xid)
                        from (select changed_xid from memory.tombstone
                               where user_id = %(user_id)s and reason = 'account'
                              union all
                              select changed_xid from memory.forgotten_record
                               where user_id = %(user_id)s and reason = 'account') as kept)
                else (select tombstone.changed_xid
                        from memory.tombstone as tombstone
                       where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                           = (reached.user_id, reached.agent_id, reached.session_id))
           end as forgotten_xid
      from reached
)
select deletion_id, coalesce(agent_id, '') as agent_id, coalesce(session_id, source_id, '') as id,
       forgotten_xid is not null as is_left
  from dated
 where forgotten_xid is null or changed_xid < forgotten_xid
 order by 2, 3, 1
