-- A message with the pair it belongs to: its own, or the one it answers. A deleted one lives on in the ledger.
select message.role,
       coalesce(message.pair_index, message.answers) as pair_index,
       message.is_active,
       null::timestamptz as deleted_at
  from orbitpilot.message as message
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (%(user)s, %(agent)s, %(session)s, %(message)s)
union all
select 'user', pair.pair_index, coalesce(pair.was_active, false), pair.deleted_at
  from memory.pair as pair
 where (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
     = (%(user)s, %(agent)s, %(session)s, %(message)s)
   and pair.deleted_at is not null
 order by deleted_at nulls first
 limit 1
