-- A question that says something else now: what answered it before, and the file doesn't show any more, answered other words.
update stored_message as reply
   set is_left_behind = true
  from stored_message as question
 where question.session_no = reply.session_no
   and question.is_reworded
   and reply.answers = question.pair_index
   and not exists (select from incoming_message as incoming
                    where (incoming.session_no, incoming.message_id) = (reply.session_no, reply.message_id))
