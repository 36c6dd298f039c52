-- Every id that was ever given after one of these openings, with what its branch says: the digests of its messages in a
-- row, null where nothing is stored. offset 0 has the messages looked up session by session: few are asked for at a time.
select given.opening, given.session_id, said.digests,
       exists (select
                 from memory.tombstone as tombstone
                where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                    = (%(user_id)s, %(agent_id)s, given.session_id)) as is_forgotten
  from (select asked.opening, named.session_id
          from unnest(%(openings)s::text[]) as asked (opening)
         cross join lateral (select session.session_id
                               from orbitpilot.session as session
                              where (session.user_id, session.agent_id) = (%(user_id)s, %(agent_id)s)
                                and session.session_id > asked.opening || '-'
                                and session.session_id < asked.opening || '.'
                             union
                             select pair.session_id
                               from memory.pair as pair
                              where (pair.user_id, pair.agent_id) = (%(user_id)s, %(agent_id)s)
                                and pair.session_id > asked.opening || '-'
                                and pair.session_id < asked.opening || '.'
                             union
                             select tombstone.session_id
                               from memory.tombstone as tombstone
                              where (tombstone.user_id, tombstone.agent_id) = (%(user_id)s, %(agent_id)s)
                                and tombstone.session_id > asked.opening || '-'
                                and tombstone.session_id < asked.opening || '.') as named) as given
  left join lateral (select case when count(*) > 0
                                 then coalesce(string_agg(decode(md5(left(message.role, 1)
                                                                     || case when %(by_id)s
                                                                             then message.message_id || E'\x1f'
                                                                             else '' end
                                                                     || message.content), 'hex'),
                                                          ''::bytea order by message.position)
                                                   filter (where message.is_active),
                                               ''::bytea)
                            end as digests
                       from orbitpilot.message as message
                      where (message.user_id, message.agent_id, message.session_id)
                          = (%(user_id)s, %(agent_id)s, given.session_id)
                     offset 0) as said on true
