-- The ids of this batch, kept until the whole file was seen.
insert into mirrored_message (session_id, message_id)
select session_id, message_id from incoming_message
union
select session_id, message_id from incoming_left_behind
