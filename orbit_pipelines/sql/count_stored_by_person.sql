-- How many chunks a publish may have to compare, so that it can take so many people at a time as fit into memory.
select user_id, count(*) from memory.chunk where %(everyone)s or user_id = any(%(users)s) group by user_id
