-- Sessions that a file holds several times, and that end as they were.
insert into imported_session (session_id, is_new, is_edited, is_grown)
select session_id, false, false, false
  from unnest(%(session_ids)s::text[]) as session_id
    on conflict do nothing
