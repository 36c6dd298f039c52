-- The rules in force, with how many sessions each matches now.
select rule.rule_id, rule.kind, rule.value, rule.user_id, rule.agent_id, rule.created_at,
       count(match.session_id) as sessions
  from memory.admission_rule as rule
  left join memory.admission_match as match on match.rule_id = rule.rule_id
 where rule.removed_at is null
 group by rule.rule_id
 order by rule.rule_id
