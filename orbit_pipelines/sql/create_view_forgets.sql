-- Sessions that were forgotten; has its columns already, and no rows before there is a way to forget.
create view forgets as
select null::varchar as user_id,
       null::varchar as agent_id,
       null::varchar as session_id,
       null::timestamptz as forgotten_at,
       null::bigint as build_id,
       null::integer as chunks
 where false
