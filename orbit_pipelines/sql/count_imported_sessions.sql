-- Each session once, however many pieces it came in; and which of them are forgotten: history, and never memory.
select count(*) filter (where is_new),
       count(*) filter (where not is_new and (is_edited or is_grown)),
       count(*) filter (where not is_new and is_grown),
       count(*) filter (where not is_new and is_edited),
       count(*) filter (where not is_new and not (is_edited or is_grown)),
       array(select tombstone.session_id
               from imported_session
               join memory.tombstone as tombstone
                 on (tombstone.user_id, tombstone.agent_id, tombstone.session_id)
                  = (%(user_id)s, %(agent_id)s, imported_session.session_id)
              order by 1)
  from imported_session
