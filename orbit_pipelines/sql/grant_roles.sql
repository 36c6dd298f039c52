-- All that the roles may do, from nothing each time: what an earlier version granted and this one doesn't, goes.
revoke all on all tables in schema orbitpilot, memory from {app}, {analyst};
revoke all on all routines in schema orbitpilot, memory from public, {app}, {analyst};
revoke all on schema orbitpilot, memory from {app}, {analyst};

grant usage on schema orbitpilot, memory to {app}, {analyst};
grant select on public.orbit_schema_version to {app}, {analyst};
grant select, insert, update, delete on public.orbit_schema_version to {pipeline};

-- The application: people's own histories, what became of them in memory, and what their plan says. All but the last is
-- under row-level security. "update (locale)" is also what lets it lock the account's row while it writes.
grant select, update (locale, time_zone) on orbitpilot.account to {app};
grant select, delete on orbitpilot.sign_in to {app};
grant select, insert, update, delete
   on orbitpilot.session, orbitpilot.session_participant, orbitpilot.message, orbitpilot.record to {app};
grant select, insert, update (deleted_at, not_remembered, run_index, was_active, text_hash) on memory.pair to {app};
grant select on memory.chunk, memory.source_status, memory.skipped, memory.build, memory.watermark, memory.tombstone,
                memory.forgotten_record, memory.session_admission, memory.admission_rule, memory.admission_match,
                memory.recipe, memory.forget to {app};
grant select (build_id, user_id, agent_id, source_key, source_id, chunk_index, action, reason, changed_at)
   on memory.change to {app};
grant select on memory.kept_out to {app};
grant select (user_id, agent_id, session_id, covered_below) on memory.former_session to {app};
grant select on orbitpilot.plan, orbitpilot.memory_source, orbitpilot.source_plan_assignment to {app};
grant update (included_sources) on orbitpilot.plan to {app};
grant update (in_rag) on orbitpilot.memory_source to {app};
grant insert, update (is_visible), delete on orbitpilot.source_plan_assignment to {app};
-- Those that run as their owner look at orbit.user_id themselves; the tests call each on another person's behalf.
grant execute on function orbitpilot.account_for_sign_in, orbitpilot.sign_up, orbitpilot.begin_sign_in,
                          orbitpilot.change_own_password, orbitpilot.count_attempts, orbitpilot.forgive_attempts,
                          orbitpilot.count_people_by_source, orbitpilot.slot_of, memory.trimmed,
                          memory.restore_tombstones, memory.bind_sessions to {app};

-- Analysts: everybody's keys, flags, numbers, times and reasons. Column by column where a table holds text, a title or
-- a vector, so that a column added later stays closed; nothing of the cache.
grant select (user_id, plan_key, locale, slot, changed_xid) on orbitpilot.account to {analyst};
grant select (user_id, agent_id, session_id, channel, chat_type, session_kind, hook_source, started_at, closed_at,
              next_pair_index, do_not_remember, changed_xid) on orbitpilot.session to {analyst};
grant select on orbitpilot.session_participant to {analyst};
grant select (user_id, agent_id, session_id, message_id, handle, parent_id, position, is_active, role, author, sent_at,
              is_partial, not_remembered, pair_index, answers, run_index, content_xid, flag_xid)
   on orbitpilot.message to {analyst};
grant select (user_id, agent_id, source_key, source_id, is_excluded, origin_session_id, origin_message_id, recorded_at,
              content_xid, flag_xid) on orbitpilot.record to {analyst};
grant select on orbitpilot.deletion, orbitpilot.plan, orbitpilot.memory_source, orbitpilot.source_plan_assignment
   to {analyst};
grant select (user_id, agent_id, source_key, source_id, chunk_index, content_hash, session_id, message_id,
              reply_message_ids, language, origin_class, session_kind, sent_at, recipe, build_id)
   on memory.chunk to {analyst};
grant select (user_id, agent_id, session_id, forgotten_at, changed_xid) on memory.tombstone to {analyst};
grant select (user_id, agent_id, source_key, source_id, origin_session_id, forgotten_at, taken_back_at, changed_xid)
   on memory.forgotten_record to {analyst};
grant select on memory.former_session, memory.former_record, memory.former_account to {analyst};
grant select (number, user_id, issued_at) on memory.forget to {analyst};
grant select (user_id, agent_id, session_id, pair_index, message_id, not_remembered, run_index, was_active, deleted_at)
   on memory.pair to {analyst};
grant select on memory.recipe, memory.build, memory.store, memory.source_status, memory.change,
                memory.skipped, memory.watermark, memory.session_admission, memory.admission_rule to {analyst};
