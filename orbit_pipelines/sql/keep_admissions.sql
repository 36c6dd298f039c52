-- Sessions that a rule matches for the first time: how many of their pairs memory had is kept from now on.
insert into memory.session_admission (user_id, agent_id, session_id, admitted_below)
select fresh.user_id, fresh.agent_id, fresh.session_id, fresh.admitted_below
  from unnest(%(user_id)s::text[], %(agent_id)s::text[], %(session_id)s::text[], %(admitted_below)s::int[])
       as fresh (user_id, agent_id, session_id, admitted_below)
    on conflict do nothing
