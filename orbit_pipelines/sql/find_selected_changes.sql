-- The sources of the selection whose changes still have hashes, with how many.
with {{selection}}, {{selected_changes}}
select agent_id, source_key, source_id, count(*) from changes group by 1, 2, 3 order by 1, 2, 3
