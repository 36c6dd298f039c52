-- Take the messages of sessions out of the batch, and what was read of those sessions: they come again under other ids.
with message as (
    delete from incoming_message where session_no = any (%(numbers)s::int[])
), left_behind as (
    delete from incoming_left_behind where session_no = any (%(numbers)s::int[])
), session as (
    update incoming_session set is_aligned = true where session_no = any (%(numbers)s::int[])
)
delete from stored_message where session_no = any (%(numbers)s::int[])
