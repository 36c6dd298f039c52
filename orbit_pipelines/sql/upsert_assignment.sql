-- What a plan says of a source; saying it again writes nothing.
insert into orbitpilot.source_plan_assignment as known (plan_key, source_key, is_visible)
values (%(plan_key)s, %(source_key)s, %(is_visible)s)
    on conflict (plan_key, source_key) do update
   set is_visible = excluded.is_visible
 where known.is_visible <> excluded.is_visible
