-- Admission rules in force, the sessions they keep out, and the pairs the last builds left out for one.
select (select count(*) from memory.admission_rule where removed_at is null),
       (select count(distinct (user_id, agent_id, session_id)) from memory.admission_match where is_in_force),
       (select count(*) from memory.skipped where until_build_id is null and reason = 'not_admitted')
