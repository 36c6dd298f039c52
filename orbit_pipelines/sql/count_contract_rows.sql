-- How much the contract was held against.
select (select count(*) from contract_session), (select count(*) from contract_message),
       (select count(*) from contract_record)
