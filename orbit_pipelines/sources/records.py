"""Records of the sources that aren't chat history: blinks, documents, profile facts."""

from datetime import datetime
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownRecord, UnknownSource
from orbit_pipelines.history.accounts import require_account
from orbit_pipelines.model import CHAT_HISTORY, Store
from orbit_pipelines.sources.administration import require_source


def put_record(
    conn: psycopg.Connection[Any],
    store: Store,
    source_key: str,
    source_id: str,
    content: str,
    *,
    title: str | None = None,
    origin_session_id: str | None = None,
    origin_message_id: str | None = None,
    recorded_at: datetime | None = None,
) -> bool:
    """Store a record as its source has it now, and return whether anything changed.

    Whether it is excluded stays as its owner left it.

    Args:
        conn: commits are the caller's.
        store: whose record it is.
        source_key: a registered source other than chat history.
        source_id: the record's id within that source and store.
        content: the text that may become memory.
        title: what it is called, if anything.
        origin_session_id: the session it was taken from, if any.
        origin_message_id: the message it was taken from, if any.
        recorded_at: when it was recorded; None for now, or for what is known.

    Raises:
        UnknownAccount: nobody has the store's user id.
        UnknownSource: no source has that key, or it is chat history, whose records are its messages.
    """
    require_account(conn, store.user_id)
    require_source(conn, source_key)
    if source_key == CHAT_HISTORY:
        raise UnknownSource(f"{CHAT_HISTORY!r} takes no records: its pairs are made from messages. Import those.")
    written = conn.execute(
        statement("upsert_record"),
        {
            "user_id": store.user_id,
            "agent_id": store.agent_id,
            "source_key": source_key,
            "source_id": source_id,
            "title": title,
            "content": content,
            "origin_session_id": origin_session_id,
            "origin_message_id": origin_message_id,
            "recorded_at": recorded_at,
        },
    )
    return written.rowcount > 0


def delete_record(conn: psycopg.Connection[Any], store: Store, source_key: str, source_id: str) -> None:
    """Delete a record; the next build takes it out of memory.

    Raises:
        UnknownRecord: the store has no such record.
    """
    deleted = conn.execute(
        "delete from orbitpilot.record where (user_id, agent_id, source_key, source_id) = (%s, %s, %s, %s)",
        (store.user_id, store.agent_id, source_key, source_id),
    )
    if deleted.rowcount == 0:
        raise UnknownRecord(
            f"{source_key!r} has no record {source_id!r} of user {store.user_id!r} and agent {store.agent_id!r}."
        )
