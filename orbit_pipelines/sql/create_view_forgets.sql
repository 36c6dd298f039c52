-- Sessions that are forgotten, with what memory held of each: the chunks that left for that reason, those of records that
-- were caught from it too, and the last build in which some did.
create view forgets as
select forgotten.user_id, forgotten.agent_id, forgotten.session_id, forgotten.forgotten_at,
       greatest(max(removed.build_id), any_value(forgotten.caught_build_id)) as build_id,
       (count(removed.build_id) + any_value(forgotten.caught_chunks))::integer as chunks,
       forgotten.receipt_number, forgotten.receipt_issued_at
  from mirrored_forgets as forgotten
  left join changes as removed
    on removed.user_id = forgotten.user_id
   and removed.agent_id = forgotten.agent_id
   and removed.session_id = forgotten.session_id
   and removed.action = 'removed'
   and removed.reason = 'session_forgotten'
 group by all
