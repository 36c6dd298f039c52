-- What every cache insert and publish compares with what its extraction saw.
insert into memory.store as known (user_id, agent_id, forget_revision)
select %(user_id)s, agent_id, 1 from unnest(%(agents)s::text[]) as agent_id order by agent_id
    on conflict (user_id, agent_id) do update set forget_revision = known.forget_revision + 1
returning agent_id, forget_revision
