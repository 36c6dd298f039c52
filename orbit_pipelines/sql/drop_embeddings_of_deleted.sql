-- In a store that lost something for good, a vector stays only if a live chunk has it, or a pair or record that is
-- still there had that text and didn't lose it by a deletion (a deleted reply's text goes although its pair stays).
delete from memory.embedding_cache as cached
 using bereft_store as bereft
 where (cached.user_id, cached.agent_id) = (bereft.user_id, bereft.agent_id)
   and not exists (select from memory.chunk as live
                    where (live.user_id, live.agent_id, live.content_hash)
                        = (cached.user_id, cached.agent_id, cached.content_hash))
   and not exists (
        select from memory.change as change
          left join memory.pair as pair
            on (pair.user_id, pair.agent_id) = (change.user_id, change.agent_id)
           and change.source_key = 'orbitpilot.chat_history'
           and pair.session_id = left(change.source_id, -position(':' in reverse(change.source_id)))
           and change.source_id = pair.session_id || ':' || pair.pair_index
           and pair.deleted_at is null
          left join orbitpilot.record as record
            on (record.user_id, record.agent_id, record.source_key, record.source_id)
             = (change.user_id, change.agent_id, change.source_key, change.source_id)
         where (change.user_id, change.agent_id, change.content_hash)
             = (cached.user_id, cached.agent_id, cached.content_hash)
           and (pair.pair_index is not null or record.source_id is not null)
           and not exists (
                select from memory.change as later
                 where (later.user_id, later.agent_id, later.source_key, later.source_id, later.content_hash)
                     = (change.user_id, change.agent_id, change.source_key, change.source_id, change.content_hash)
                   and later.reason in ('message_deleted', 'session_deleted', 'account_deleted')
                   and later.changed_at >= change.changed_at))
