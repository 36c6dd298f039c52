-- A store's row is what a cache insert and a forget meet on, so it is there before the first insert. In one order, as
-- all that two builds may insert at once: else each could wait for the other.
insert into memory.store (user_id, agent_id)
select fresh.user_id, fresh.agent_id
  from unnest(%(user_id)s::text[], %(agent_id)s::text[]) as fresh (user_id, agent_id)
 where not exists (select from memory.store as known
                    where (known.user_id, known.agent_id) = (fresh.user_id, fresh.agent_id))
 order by fresh.user_id, fresh.agent_id
    on conflict do nothing
