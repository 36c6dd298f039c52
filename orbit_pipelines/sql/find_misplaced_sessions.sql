-- Sessions to be laid beside what is stored of them: those in which a place names another message than it did, and those of
-- which the file names a message that isn't stored and lacks one that is, where either has its name from its place, or one
-- that was deleted and is known by what it said.
with unknown as (
    select incoming.session_no, bool_or(incoming.is_placed) as is_placed
      from incoming_message as incoming
      join incoming_session as session
        on session.session_no = incoming.session_no
       and (not session.is_new or session.session_no in (select session_no from former_pair))
      left join stored_message as stored
        on (stored.session_id, stored.message_id) = (session.session_id, incoming.message_id)
     where stored.message_id is null
     group by incoming.session_no
), lacking as (
    select stored.session_no, bool_or(stored.message_id ~ '^(m[0-9]+|.*~[0-9]*)$') as is_placed
      from stored_message as stored
     where not stored.is_left_behind
       and not exists (select from incoming_message as incoming
                        where (incoming.session_no, incoming.message_id) = (stored.session_no, stored.message_id))
     group by stored.session_no
)
select session.session_no, session.session_id
  from incoming_session as session
 where session.session_no in (select session_no from stored_message where is_misplaced
                              union
                              select session_no
                                from unknown join lacking using (session_no)
                               where unknown.is_placed or lacking.is_placed
                              union
                              select session_no
                                from unknown join former_pair using (session_no)
                               where former_pair.text_hash is not null)
 order by session.session_no
