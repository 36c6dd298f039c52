-- Each session once, however many pieces it came in.
select count(*) filter (where is_new),
       count(*) filter (where not is_new and (is_edited or is_grown)),
       count(*) filter (where not is_new and is_grown),
       count(*) filter (where not is_new and is_edited),
       count(*) filter (where not is_new and not (is_edited or is_grown))
  from imported_session
