-- Take sessions out of the batch, as if they had not been in it.
with message as (
    delete from incoming_message where session_no = any (%(numbers)s::int[])
), left_behind as (
    delete from incoming_left_behind where session_no = any (%(numbers)s::int[])
), stored as (
    delete from stored_message where session_no = any (%(numbers)s::int[])
), former as (
    delete from former_pair where session_no = any (%(numbers)s::int[])
)
delete from incoming_session where session_no = any (%(numbers)s::int[])
