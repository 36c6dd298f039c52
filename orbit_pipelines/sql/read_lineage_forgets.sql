-- Every tombstone there is, and the newest receipt that names its session. Why, in somebody's words, is not told. Which
-- records were caught from a session only the database knows, so what left with them is counted here.
select tombstone.user_id, tombstone.agent_id, tombstone.session_id, tombstone.forgotten_at,
       caught.build_id as caught_build_id, caught.chunks as caught_chunks,
       receipt.number as receipt_number, receipt.issued_at as receipt_issued_at
  from memory.tombstone as tombstone
 cross join lateral (select max(change.build_id) as build_id, count(*) as chunks
                       from memory.forgotten_record as known
                       join memory.change as change using (user_id, agent_id, source_key, source_id)
                      where (known.user_id, known.agent_id, known.origin_session_id)
                          = (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                        and (change.action, change.reason) = ('removed', 'record_excluded')
                        and change.changed_at >= tombstone.forgotten_at
                        -- What its owner took back after the forget left for another reason, if it did.
                        and change.changed_at < coalesce(known.taken_back_at, 'infinity')) as caught
  left join (select distinct on (user_id, selected.session)
                    forget.user_id, selected.session, forget.number, forget.issued_at
               from memory.forget as forget
              cross join lateral jsonb_array_elements(forget.receipt #> '{receipt,selected,sessions}')
                         as selected (session)
              order by user_id, selected.session, forget.number desc) as receipt
    on receipt.user_id = tombstone.user_id
   and receipt.session = jsonb_build_array(tombstone.agent_id, tombstone.session_id)
 order by tombstone.user_id, tombstone.agent_id, tombstone.session_id
