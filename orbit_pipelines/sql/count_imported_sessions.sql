-- Each session once, however many pieces it came in.
select count(*) filter (where is_new),
       count(*) filter (where not is_new and is_changed),
       count(*) filter (where not is_new and not is_changed)
  from imported_session
