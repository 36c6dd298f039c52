-- The skips in force, for a build of everyone, a stretch of user ids at a time; those of people left out are not its
-- business.
select skipped.user_id, skipped.agent_id, skipped.source_key, skipped.source_id, skipped.reason
  from memory.skipped as skipped
 where skipped.until_build_id is null and skipped.user_id <> all(%(left_out)s)
   and (%(after)s::text is null or skipped.user_id > %(after)s)
   and (%(until)s::text is null or skipped.user_id <= %(until)s)
