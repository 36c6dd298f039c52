-- Staged pairs whose number is not the ledger's, and numbers that moved: memory knows the message by another one, or
-- knows another message by this one. A message that was renamed keeps its number and has left the ledger by its old id.
with session as (
    select distinct user_id, agent_id, session_id from staged_pair
), stored as (
    select distinct chunk.user_id, chunk.agent_id, chunk.session_id, chunk.source_id, chunk.message_id
      from session
      join memory.chunk as chunk
        on (chunk.user_id, chunk.agent_id, chunk.source_key)
         = (session.user_id, session.agent_id, 'orbitpilot.chat_history')
       and chunk.source_id >= session.session_id || ':' and chunk.source_id < session.session_id || ';'
     where chunk.session_id = session.session_id
)
select 'not_as_in_the_ledger' as problem, staged.user_id, staged.agent_id, staged.source_id
  from staged_pair as staged
  left join memory.pair as pair using (user_id, agent_id, session_id, message_id)
 where staged.source_id is distinct from pair.session_id || ':' || pair.pair_index
union
select 'moved', staged.user_id, staged.agent_id, staged.source_id
  from staged_pair as staged
  join stored using (user_id, agent_id, session_id, message_id)
 where stored.source_id <> staged.source_id
union
select 'taken_from_another', staged.user_id, staged.agent_id, staged.source_id
  from staged_pair as staged
  join stored using (user_id, agent_id, session_id, source_id)
  join memory.pair as pair
    on (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
     = (stored.user_id, stored.agent_id, stored.session_id, stored.message_id)
 where stored.message_id <> staged.message_id
