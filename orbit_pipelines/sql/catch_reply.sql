-- A reply as a blink: excluded from the start if any message of the run that it answers isn't to be remembered, be it
-- one that was deleted since; or if the session was forgotten.
with reply as (
    select *
      from orbitpilot.message
     where (user_id, agent_id, session_id, message_id)
         = (%(user_id)s, %(agent_id)s, %(session_id)s, %(message_id)s)
       and role = 'assistant'
), asked as (
    select message.pair_index, message.run_index, message.is_active as was_there, message.not_remembered
      from reply
      join orbitpilot.message as message using (user_id, agent_id, session_id)
     where message.role = 'user'
    union all
    select pair.pair_index, pair.run_index, pair.was_active, pair.not_remembered
      from reply
      join memory.pair as pair using (user_id, agent_id, session_id)
     where pair.deleted_at is not null
)
insert into orbitpilot.record (user_id, agent_id, source_key, source_id, content, is_excluded, origin_session_id,
                               origin_message_id)
select reply.user_id, reply.agent_id, 'blink.blinks', %(blink_id)s, %(content)s,
       exists (select
                 from asked as answered
                 join asked as member on member.run_index = answered.run_index
                where answered.pair_index = reply.answers
                  and member.not_remembered
                  and (member.was_there or member.pair_index = answered.pair_index))
       or exists (select
                    from memory.tombstone as tombstone
                   where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                       = (reply.user_id, reply.agent_id, reply.session_id)),
       reply.session_id, reply.message_id
  from reply
    on conflict do nothing
