"""The eye: one message or record remembered or not. The page, the command line and tools for assistants share it.

A flag is one row's, and only that row is written: no build, chunk, cache or lineage. Memory follows at the next build.
"""

from dataclasses import dataclass
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownMessage, UnknownRecord
from orbit_pipelines.model import Store


@dataclass(frozen=True, slots=True)
class FlagChange:
    """How a flag stands now, and whether this call changed it."""

    is_excluded: bool
    was_changed: bool


def set_remembered(
    conn: psycopg.Connection[Any], store: Store, session_id: str, message_id: str, remembered: bool
) -> FlagChange:
    """Say whether a user message is to be remembered from the next build on.

    Args:
        conn: commits are the caller's.
        store: whose message it is.
        session_id: its session.
        message_id: the message's own id, not its handle.
        remembered: False excludes it and the reply to its run; True takes that back.

    Raises:
        UnknownMessage: there is no such session or message, or it isn't a user message.
    """
    key = {"user_id": store.user_id, "agent_id": store.agent_id, "session_id": session_id, "message_id": message_id}
    changed = conn.execute(statement("update_message_flag"), {**key, "not_remembered": not remembered})
    if changed.rowcount == 0:
        _require_user_message(conn, store, key)
    return FlagChange(is_excluded=not remembered, was_changed=changed.rowcount > 0)


def set_record_excluded(
    conn: psycopg.Connection[Any], store: Store, source_key: str, source_id: str, excluded: bool
) -> FlagChange:
    """Say whether a record (a blink, a document, a fact) stays out of memory from the next build on.

    Raises:
        UnknownRecord: the store has no such record.
    """
    key = {"user_id": store.user_id, "agent_id": store.agent_id, "source_key": source_key, "source_id": source_id}
    changed = conn.execute(statement("update_record_flag"), {**key, "is_excluded": excluded})
    if changed.rowcount == 0:
        found = conn.execute(statement("find_record"), key)
        if found.rowcount == 0:
            raise UnknownRecord(
                f"{source_key!r} has no record {source_id!r} of user {store.user_id!r} and agent {store.agent_id!r}."
            )
    return FlagChange(is_excluded=excluded, was_changed=changed.rowcount > 0)


def _require_user_message(conn: psycopg.Connection[Any], store: Store, key: dict[str, str]) -> None:
    session_id, message_id = key["session_id"], key["message_id"]
    found = conn.execute(statement("find_message_role"), key).fetchone()
    if found is None:
        raise UnknownMessage(
            f"User {store.user_id!r} with agent {store.agent_id!r} has no session {session_id!r}."
            " `orbit pairs` lists what there is."
        )
    role = found[0]
    if role is None:
        raise UnknownMessage(
            f"Session {session_id!r} has no message {message_id!r}. `orbit pairs` lists the user messages there are."
        )
    if role != "user":
        raise UnknownMessage(
            f"Message {message_id!r} of session {session_id!r} is of role {role!r}; only user messages are remembered"
            " or not. Flag the message that it answers."
        )
