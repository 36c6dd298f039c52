-- A vector that no chunk has used for so many days is not kept any longer; one of a former model, though its text is
-- there. Once a day, and by one publish at a time.
with due as materialized (
    select is_the_one from memory.installation
     where cache_tended_at < now() - interval '1 day'
       for update skip locked
), noted as (
    update memory.installation as installation
       set cache_tended_at = now()
      from due
     where installation.is_the_one = due.is_the_one
    returning true
)
delete from memory.embedding_cache as cached
 where exists (select from noted)
   and cached.used_at < now() - make_interval(days => %(days)s)
   and not exists (select
                     from memory.chunk as live
                     join memory.recipe as recipe on recipe.recipe = live.recipe
                    where (live.user_id, live.agent_id, live.content_hash)
                        = (cached.user_id, cached.agent_id, cached.content_hash)
                      and recipe.model = cached.model)
