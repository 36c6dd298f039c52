-- What this publish may touch, and what it stages; gone when it commits.
create temp table scope_user (user_id text collate "C") on commit drop;
create temp table scope_session (user_id text collate "C", agent_id text collate "C", session_id text collate "C")
    on commit drop;
create temp table scope_source (user_id text collate "C", agent_id text collate "C", source_key text collate "C",
    source_id text collate "C") on commit drop;
create temp table frozen_source (like scope_source) on commit drop;
create temp table left_out_user (user_id text collate "C") on commit drop;
create temp table touched_source (like scope_source, session_id text collate "C") on commit drop;
create temp table doomed_chunk (like scope_source, chunk_index int) on commit drop;
create temp table written_pair (user_id text collate "C", agent_id text collate "C", session_id text collate "C",
    message_id text collate "C", source_id text collate "C", has_reply boolean) on commit drop;
create temp table fresh_skip (like scope_source, reason text) on commit drop;
create temp table left_text (user_id text collate "C", agent_id text collate "C", content_hash bytea) on commit drop;
create temp table unused_text (user_id text collate "C", agent_id text collate "C", model text collate "C",
    content_hash bytea) on commit drop;
create temp table bereft_store (user_id text collate "C", agent_id text collate "C") on commit drop;
create temp table updated_chunk (like scope_source, chunk_index int, content_hash bytea,
    session_id text, message_id text, reply_message_ids text[], spans jsonb, origin_class text, session_kind text,
    sent_at timestamptz, recipe text) on commit drop
