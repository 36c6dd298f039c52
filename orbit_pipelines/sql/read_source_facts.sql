-- What decides whether one source is available to one person, the plan looked up on the way.
select source.in_rag, assignment.is_visible as assignment, source.default_visible
  from orbitpilot.memory_source as source
  left join orbitpilot.source_plan_assignment as assignment
    on assignment.source_key = source.source_key
   and assignment.plan_key = coalesce((select plan_key from orbitpilot.account where user_id = %(user_id)s),
                                      (select plan_key from orbitpilot.plan where is_default))
 where source.source_key = %(source_key)s
