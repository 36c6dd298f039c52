-- Every change of names that leads to or from the given records, over any number of others.
with recursive reached (user_id, agent_id, source_key, source_id) as (
    select given.user_id collate "C", given.agent_id collate "C", given.source_key collate "C", given.source_id collate "C"
      from unnest(%(users)s::text[], %(agents)s::text[], %(sources)s::text[], %(ids)s::text[])
           as given (user_id, agent_id, source_key, source_id)
    union
    select other.user_id, other.agent_id, other.source_key, other.source_id
      from reached
     cross join lateral (
         select former.former_user_id, former.former_agent_id, former.former_source_key, former.former_source_id
           from memory.former_record as former
          where (former.user_id, former.agent_id, former.source_key, former.source_id)
              = (reached.user_id, reached.agent_id, reached.source_key, reached.source_id)
         union all
         select former.user_id, former.agent_id, former.source_key, former.source_id
           from memory.former_record as former
          where (former.former_user_id, former.former_agent_id, former.former_source_key, former.former_source_id)
              = (reached.user_id, reached.agent_id, reached.source_key, reached.source_id)
     ) as other (user_id, agent_id, source_key, source_id)
)
select former.user_id, former.agent_id, former.source_key, former.source_id,
       former.former_user_id, former.former_agent_id, former.former_source_key, former.former_source_id,
       exists (select from orbitpilot.record as present
                where (present.user_id, present.agent_id, present.source_key, present.source_id)
                    = (former.former_user_id, former.former_agent_id, former.former_source_key, former.former_source_id))
       or {{account_taken}} as is_taken,
       former.is_gone,
       former.is_reused,
       {{of_other_person}} as is_of_other,
       {{followed}} as is_followed
  from reached
  join memory.former_record as former
    on (former.user_id, former.agent_id, former.source_key, former.source_id)
     = (reached.user_id, reached.agent_id, reached.source_key, reached.source_id)
