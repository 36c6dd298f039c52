-- Which sessions ask which questions, by digest; those that many ask tell nothing, and would make candidates of them all.
-- The forgotten are counted for themselves: however many others ask the same, they return under no other id.
create temp table known_question on commit drop as
select digest, session_id, is_forgotten
  from (select digest, session_id, is_forgotten, count(*) over (partition by digest, is_forgotten) as askers
          from (select distinct decode(md5(message.content), 'hex') as digest, message.session_id,
                       tombstone.session_id is not null as is_forgotten
                  from orbitpilot.message as message
                  left join memory.tombstone as tombstone using (user_id, agent_id, session_id)
                 where (message.user_id, message.agent_id) = (%(user_id)s, %(agent_id)s)
                   and message.role = 'user'
                   and message.is_active) as asked) as counted
 where askers <= 20
