-- In a store that lost something for good, an unused vector stays only if a pair or record that is still there had that
-- text and didn't lose it by a deletion (a deleted reply's text goes although its pair stays).
with last_seen as materialized (
    select distinct on (change.user_id, change.agent_id, change.source_key, change.source_id, change.content_hash)
           change.user_id, change.agent_id, change.source_key, change.source_id, change.content_hash, change.reason,
           left(change.source_id, -position(':' in reverse(change.source_id))) as session_id
      from unused_text as unused
      join memory.change as change using (user_id, agent_id, content_hash)
     order by 1, 2, 3, 4, 5, change.changed_at desc, change.action = 'removed' desc
), kept as materialized (
    select last_seen.user_id, last_seen.agent_id, last_seen.content_hash
      from last_seen
      join memory.pair as pair
        on last_seen.source_key = 'orbitpilot.chat_history'
       and (pair.user_id, pair.agent_id, pair.session_id)
         = (last_seen.user_id, last_seen.agent_id, last_seen.session_id)
       and last_seen.source_id = pair.session_id || ':' || pair.pair_index
       and pair.deleted_at is null
     where last_seen.reason not in ('message_deleted', 'session_deleted', 'account_deleted')
    union all
    select last_seen.user_id, last_seen.agent_id, last_seen.content_hash
      from last_seen
      join orbitpilot.record as record using (user_id, agent_id, source_key, source_id)
     where last_seen.reason not in ('message_deleted', 'session_deleted', 'account_deleted')
)
delete from memory.embedding_cache as cached
 using unused_text as unused
 where (cached.user_id, cached.agent_id, cached.model, cached.content_hash)
     = (unused.user_id, unused.agent_id, unused.model, unused.content_hash)
   and not exists (select from kept
                    where (kept.user_id, kept.agent_id, kept.content_hash)
                        = (cached.user_id, cached.agent_id, cached.content_hash))
