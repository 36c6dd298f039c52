-- For each session of a file the stored ones that hold the most of its message ids, or held them; ids that many sessions
-- have are numbers of turns and tell nothing.
select number, session_id
  from (select asked.number, holding.session_id,
               row_number() over (partition by asked.number order by count(*) desc, holding.session_id) as rank
          from unnest(%(numbers)s::int[], %(message_ids)s::text[]) as asked (number, message_id)
          join (select held.message_id, held.session_id, count(*) over (partition by held.message_id) as holders
                  from (select message.message_id, message.session_id
                          from orbitpilot.message as message
                         where (message.user_id, message.agent_id) = (%(user_id)s, %(agent_id)s)
                           and message.message_id = any (%(message_ids)s::text[])
                         union
                        select pair.message_id, pair.session_id
                          from memory.pair as pair
                         where (pair.user_id, pair.agent_id) = (%(user_id)s, %(agent_id)s)
                           and pair.message_id = any (%(message_ids)s::text[])) as held) as holding
            on holding.message_id = asked.message_id and holding.holders <= 20
         group by asked.number, holding.session_id) as ranked
 where rank <= 8
 order by number, session_id
