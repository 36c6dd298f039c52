-- How many stored messages of the batch's sessions go because another one has their id, and how many leave the branch.
select count(*) filter (where is_another), count(*) filter (where is_left_behind and is_active) from stored_message
