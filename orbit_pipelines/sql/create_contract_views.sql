-- The rows as the contract speaks of them, without any text. What an expectation holds only of some rows is a column
-- that is null in the others.
create temp view contract_session_key as
    select session.user_id, session.agent_id, session.session_id
      from contract_chosen as chosen
      join orbitpilot.session as session on chosen.is_everything or session.user_id = any(chosen.users)
     union
    select user_id, agent_id, session_id from contract_chosen_session;
create temp view contract_session as
    select session.user_id, session.agent_id, session.session_id, session.next_pair_index,
           coalesce(max(pair.pair_index) + 1, 0) as numbers,
           coalesce(max(pair.pair_index) + 1, 0) - count(pair.pair_index) as missing_numbers
      from contract_session_key
      join orbitpilot.session as session using (user_id, agent_id, session_id)
      left join memory.pair as pair using (user_id, agent_id, session_id)
     group by 1, 2, 3, 4;
create temp view contract_message as
    select message.user_id, message.agent_id, message.session_id, message.message_id, message.role,
           case when num_nulls(message.user_id, message.agent_id, message.session_id, message.message_id) = 0
                then true end as has_whole_key,
           message.pair_index, pair.pair_index as ledger_pair_index,
           case when message.role = 'user' then coalesce(message.pair_index, -1) end as number_of_user_message,
           case when message.pair_index is not null then message.role end as role_if_numbered,
           case when message.not_remembered then message.role end as role_if_flagged
      from contract_session_key
      join orbitpilot.message as message using (user_id, agent_id, session_id)
      left join memory.pair as pair
        on (pair.user_id, pair.agent_id, pair.session_id, pair.message_id)
         = (message.user_id, message.agent_id, message.session_id, message.message_id)
       and pair.deleted_at is null;
create temp view contract_record as
    select record.user_id, record.agent_id, record.source_key, record.source_id,
           case when num_nulls(record.user_id, record.agent_id, record.source_key, record.source_id) = 0
                then true end as has_whole_key
      from contract_chosen as chosen
      join orbitpilot.record as record on chosen.is_everything or record.user_id = any(chosen.users)
     union all
    select record.user_id, record.agent_id, record.source_key, record.source_id, true
      from contract_chosen_record join orbitpilot.record as record using (user_id, agent_id, source_key, source_id)
     where not exists (select from contract_chosen as chosen
                        where chosen.is_everything or record.user_id = any(chosen.users))
