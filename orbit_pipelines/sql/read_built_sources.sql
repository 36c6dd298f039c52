-- The sources that a person's last build included, and whether recall finds anything of each in one store.
select status.source_key,
       exists (select from memory.chunk as chunk
                where (chunk.user_id, chunk.agent_id, chunk.source_key)
                    = (status.user_id, %(agent_id)s, status.source_key))
  from memory.source_status as status
 where status.user_id = %(user_id)s
   and status.until_build_id is null
   and status.status = 'included'
