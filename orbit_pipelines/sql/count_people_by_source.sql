-- How many people stand where, for an administrator: by plan, by source, by what the builds found last.
select plan_key, source_key, status, people from orbitpilot.count_people_by_source()
