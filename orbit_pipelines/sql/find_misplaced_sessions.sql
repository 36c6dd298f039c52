-- Sessions in which a place names another message than it did.
select distinct session_no, session_id from stored_message where is_misplaced order by session_no
