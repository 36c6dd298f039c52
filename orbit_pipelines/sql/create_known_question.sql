-- Which sessions ask which questions, by digest; those that many ask tell nothing, and would make candidates of them all.
create temp table known_question on commit drop as
select digest, session_id
  from (select digest, session_id, count(*) over (partition by digest) as askers
          from (select distinct decode(md5(message.content), 'hex') as digest, message.session_id
                  from orbitpilot.message as message
                 where (message.user_id, message.agent_id) = (%(user_id)s, %(agent_id)s)
                   and message.role = 'user'
                   and message.is_active) as asked) as counted
 where askers <= 20
