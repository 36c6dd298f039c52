-- Known messages take what the file says otherwise, their place on the branch, and the run a new reply left them in.
with differing as (
    select branch.session_id, branch.message_id, branch.position, branch.run_index,
           not message.is_active as was_inactive,
           ((message.author, message.content, message.sent_at, message.is_partial, message.parent_id)
                    is distinct from
                    (coalesce(incoming.author, message.author), incoming.content,
                     coalesce(incoming.sent_at, message.sent_at), incoming.is_partial,
                     coalesce(incoming.parent_id, message.parent_id)))
               and incoming.place is not null as is_edited
      from merged_branch as branch
      join orbitpilot.message as message
        on (message.user_id, message.agent_id, message.session_id, message.message_id)
         = (%(user_id)s, %(agent_id)s, branch.session_id, branch.message_id)
      left join incoming_message as incoming
        on (incoming.session_id, incoming.message_id) = (branch.session_id, branch.message_id)
     where branch.is_known
       and (message.parent_id, message.author, message.content, message.sent_at, message.is_partial,
            message.position, message.run_index, message.is_active)
           is distinct from
           (coalesce(incoming.parent_id, message.parent_id), coalesce(incoming.author, message.author),
            coalesce(incoming.content, message.content), coalesce(incoming.sent_at, message.sent_at),
            coalesce(incoming.is_partial, message.is_partial), branch.position, branch.run_index, true)
), updated as (
    update orbitpilot.message as message
       set parent_id = coalesce(incoming.parent_id, message.parent_id),
           author = coalesce(incoming.author, message.author),
           content = coalesce(incoming.content, message.content),
           sent_at = coalesce(incoming.sent_at, message.sent_at),
           is_partial = coalesce(incoming.is_partial, message.is_partial),
           position = differing.position,
           run_index = differing.run_index,
           is_active = true
      from differing
      left join incoming_message as incoming using (session_id, message_id)
     where (message.user_id, message.agent_id, message.session_id, message.message_id)
         = (%(user_id)s, %(agent_id)s, differing.session_id, differing.message_id)
), touched as (
    update incoming_session as incoming
       set is_changed = true
     where incoming.session_id in (select session_id from differing)
)
select count(*) filter (where is_edited and not was_inactive), count(*) filter (where was_inactive)
  from differing
