-- Known messages take what the file says otherwise, their place on the branch, and the run a new reply left them in; a
-- whole reply isn't replaced by its beginning.
with touched as (
    update incoming_session as incoming
       set is_edited = true
     where incoming.session_no in (select session_no from merged_branch where is_edited or is_returning or is_moved)
)
update orbitpilot.message as message
   set parent_id = coalesce(incoming.parent_id, message.parent_id),
       author = coalesce(incoming.author, message.author),
       content = case when branch.is_beginning then message.content
                      else coalesce(incoming.content, message.content) end,
       sent_at = coalesce(incoming.sent_at, message.sent_at),
       is_partial = case when branch.is_beginning then message.is_partial
                         else coalesce(incoming.is_partial, message.is_partial) end,
       position = branch.position,
       run_index = branch.run_index,
       is_active = true
  from merged_branch as branch
  left join incoming_message as incoming using (session_no, message_id)
 where (message.user_id, message.agent_id, message.session_id, message.message_id)
     = (%(user_id)s, %(agent_id)s, branch.session_id, branch.message_id)
   and (branch.is_edited or branch.is_returning or branch.is_moved)
