-- What published builds did to chunks; a chat pair's session and number are read from its source_id.
create view changes as
select *,
       case when source_key = 'orbitpilot.chat_history'
            then regexp_extract(source_id, '^(.*):[0-9]+$', 1) end as session_id,
       case when source_key = 'orbitpilot.chat_history'
            then try_cast(regexp_extract(source_id, ':([0-9]+)$', 1) as integer) end as pair_index
  from mirrored_changes
