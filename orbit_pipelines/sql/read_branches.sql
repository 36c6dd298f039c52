-- What is stored of some sessions: the branch in order, then what is off it, then what the ledger remembers of deleted
-- messages.
select asked.number, asked.session_id,
       exists (select
                 from memory.tombstone as tombstone
                where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                    = (%(user_id)s, %(agent_id)s, asked.session_id)) as is_forgotten,
       turn.message_id, turn.parent_id, turn.role, turn.content, turn.is_active, turn.pair_index, turn.answers,
       turn.not_remembered, turn.text_hash
  from unnest(%(numbers)s::int[], %(session_ids)s::text[]) as asked (number, session_id)
 cross join lateral (select message.message_id, message.parent_id, message.role, message.content, message.is_active,
                            message.pair_index, message.answers, message.not_remembered, message.position,
                            null::bytea as text_hash
                       from orbitpilot.message as message
                      where (message.user_id, message.agent_id, message.session_id)
                          = (%(user_id)s, %(agent_id)s, asked.session_id)
                      union all
                     select pair.message_id, null, null, null, false, pair.pair_index, null,
                            coalesce(pair.not_remembered, false), pair.pair_index, pair.text_hash
                       from memory.pair as pair
                      where (pair.user_id, pair.agent_id, pair.session_id)
                          = (%(user_id)s, %(agent_id)s, asked.session_id)
                        and pair.deleted_at is not null
                     offset 0) as turn
 order by asked.number, asked.session_id, turn.is_active desc, turn.role is null, turn.position, turn.message_id
