-- The ids of this batch, kept until the whole file was seen.
insert into mirrored_message (session_id, message_id)
select session_id, message_id from incoming_session join incoming_message using (session_no)
union all
select session_id, message_id from incoming_session join incoming_left_behind using (session_no)
