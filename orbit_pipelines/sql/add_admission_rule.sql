-- One that is in force already stays as it is.
insert into memory.admission_rule (user_id, agent_id, kind, value)
values (%(user_id)s, %(agent_id)s, %(kind)s, memory.trimmed(%(value)s))
    on conflict do nothing
