-- A record as its source has it now; only what differs is written, and the owner's eye on it stays as it is.
insert into orbitpilot.record as known (user_id, agent_id, source_key, source_id, title, content, origin_session_id,
                                        origin_message_id, recorded_at)
values (%(user_id)s, %(agent_id)s, %(source_key)s, %(source_id)s, %(title)s, %(content)s, %(origin_session_id)s,
        %(origin_message_id)s, coalesce(%(recorded_at)s::timestamptz, now()))
    on conflict (user_id, agent_id, source_key, source_id) do update
   set title = excluded.title,
       content = excluded.content,
       origin_session_id = excluded.origin_session_id,
       origin_message_id = excluded.origin_message_id,
       recorded_at = coalesce(%(recorded_at)s::timestamptz, known.recorded_at)
 where (known.title, known.content, known.origin_session_id, known.origin_message_id, known.recorded_at)
       is distinct from
       (excluded.title, excluded.content, excluded.origin_session_id, excluded.origin_message_id,
        coalesce(%(recorded_at)s::timestamptz, known.recorded_at))
