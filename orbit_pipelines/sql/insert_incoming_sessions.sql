-- Sessions that aren't stored; one that was, and was deleted, goes on after the numbers its ledger remembers.
with inserted as (
    insert into orbitpilot.session (user_id, agent_id, session_id, title, channel, chat_type, session_kind,
                                    hook_source, started_at, next_pair_index)
    select %(user_id)s, %(agent_id)s, incoming.session_id, incoming.title, incoming.channel, incoming.chat_type,
           coalesce(incoming.session_kind, 'chat'), incoming.hook_source, incoming.started_at,
           (select coalesce(max(pair.pair_index) + 1, 0)
              from memory.pair as pair
             where (pair.user_id, pair.agent_id, pair.session_id)
                 = (%(user_id)s, %(agent_id)s, incoming.session_id))
      from incoming_session as incoming
     where exists (select from incoming_message as message where message.session_no = incoming.session_no)
     order by incoming.session_id
        on conflict do nothing
    returning session_id
)
update incoming_session as incoming
   set is_new = true
  from inserted
 where inserted.session_id = incoming.session_id
