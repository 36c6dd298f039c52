-- Vectors that search can't compare: of another length than the recipe's, not a number, or not of length one.
with judged as (
    select chunk.user_id, chunk.agent_id, chunk.source_key, chunk.source_id, chunk.chunk_index,
           case when recipe.recipe is null then 'of_unknown_recipes'
                when vector_dims(chunk.embedding) <> recipe.dimensions then 'of_wrong_dimensions'
                when l2_norm(chunk.embedding) in ('NaN', 'Infinity') then 'not_finite'
                when chunk.embedding <#> chunk.embedding = 0 then 'of_zeros'
                -- Half floats keep eleven bits: a unit vector's length is off by far less than this.
                when l2_norm(chunk.embedding) not between 0.995 and 1.005 then 'not_of_unit_length'
           end as problem
      from checked_chunk as chunk
      left join memory.recipe as recipe using (recipe)
)
select problem, user_id, agent_id, source_key, source_id, chunk_index from judged where problem is not null
