-- What is stored beside a message of the file, in the same role under the same parent, and isn't in the file any more,
-- was regenerated or edited away, with all that followed it. Only where the file shows the branch whole: a message that
-- couldn't be read has left nothing. A message that was stored under another parent is nobody's new sibling.
with recursive lacking as (
    select stored.session_no, stored.message_id, stored.parent_id, stored.role
      from stored_message as stored
      join incoming_session as session using (session_no)
     where session.is_whole and stored.is_active
       and not exists (select from incoming_message as incoming
                        where (incoming.session_no, incoming.message_id) = (stored.session_no, stored.message_id))
), leaving as (
    select lacking.session_no, lacking.message_id
      from lacking
      join incoming_message as shown
        on (shown.session_no, shown.role) = (lacking.session_no, lacking.role)
       and shown.parent_id is not distinct from lacking.parent_id
      left join stored_message as known
        on (known.session_no, known.message_id) = (shown.session_no, shown.message_id)
     where known.message_id is null or known.parent_id is not distinct from shown.parent_id
    union
    select lacking.session_no, lacking.message_id
      from leaving
      join lacking on (lacking.session_no, lacking.parent_id) = (leaving.session_no, leaving.message_id)
)
update stored_message as stored
   set is_left_behind = true
  from leaving
 where (stored.session_no, stored.message_id) = (leaving.session_no, leaving.message_id)
