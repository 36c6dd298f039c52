-- Whose rows the contract is held against: everything, whole people, or single sessions and records.
create temp table contract_chosen (is_everything boolean, users text[] collate "C");
create temp table contract_chosen_session (user_id text collate "C", agent_id text collate "C",
    session_id text collate "C");
create temp table contract_chosen_record (user_id text collate "C", agent_id text collate "C",
    source_key text collate "C", source_id text collate "C")
