-- Every tombstone there is, and the newest receipt that names its session. Why, in somebody's words, is not told.
select tombstone.user_id, tombstone.agent_id, tombstone.session_id, tombstone.forgotten_at,
       receipt.number as receipt_number, receipt.issued_at as receipt_issued_at
  from memory.tombstone as tombstone
  left join (select distinct on (user_id, selected.session)
                    forget.user_id, selected.session, forget.number, forget.issued_at
               from memory.forget as forget
              cross join lateral jsonb_array_elements(forget.receipt #> '{receipt,selected,sessions}')
                         as selected (session)
              order by user_id, selected.session, forget.number desc) as receipt
    on receipt.user_id = tombstone.user_id
   and receipt.session = jsonb_build_array(tombstone.agent_id, tombstone.session_id)
 order by tombstone.user_id, tombstone.agent_id, tombstone.session_id
