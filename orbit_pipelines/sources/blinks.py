"""Catch: a reply kept as a blink, which is the person's own record from then on, with an eye of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Store

BLINKS_SOURCE = "blink.blinks"


@dataclass(frozen=True, slots=True)
class Blink:
    """A blink; the origins are None where it was caught from no reply.

    ``origin_handle`` is that of the reply, where a thread still shows it.
    """

    agent_id: str
    source_id: str
    title: str | None
    content: str
    is_excluded: bool
    origin_session_id: str | None
    origin_message_id: str | None
    origin_handle: str | None
    recorded_at: datetime


def catch_reply(
    connection: psycopg.Connection[Any], store: Store, session_id: str, message_id: str, blink_id: str
) -> Blink | None:
    """Return the blink of a reply, made now unless it was before; None where the reply has no words.

    It keeps all that the person saw. What the reply recalled from memory is never learned again: building cuts it from
    a blink as from a reply. A blink caught from a pair that isn't to be remembered, or from a forgotten session, starts
    excluded, as the reply itself is.

    Args:
        connection: commits are the caller's.
        store: whose session it is.
        session_id: the session.
        message_id: the reply's own id, in that session.
        blink_id: what the blink is to be called, always the same for the same reply.
    """
    key = {"user_id": store.user_id, "agent_id": store.agent_id, "session_id": session_id, "message_id": message_id}
    row = connection.execute(
        "select content from orbitpilot.message where (user_id, agent_id, session_id, message_id)"
        " = (%(user_id)s, %(agent_id)s, %(session_id)s, %(message_id)s) and role = 'assistant'",
        key,
    ).fetchone()
    content = row[0].strip() if row else ""
    if not content:
        return None
    connection.execute(statement("catch_reply"), {**key, "blink_id": blink_id, "content": content})
    return read_blink(connection, store, blink_id)


def read_blink(connection: psycopg.Connection[Any], store: Store, blink_id: str) -> Blink | None:
    """Return one blink of a store, None where there is none of that id."""
    return next(iter(_read(connection, store.user_id, store.agent_id, blink_id)), None)


def list_blinks(connection: psycopg.Connection[Any], user_id: str) -> tuple[Blink, ...]:
    """Return a person's blinks of all agents, the newest first."""
    return _read(connection, user_id, None, None)


def _read(
    connection: psycopg.Connection[Any], user_id: str, agent_id: str | None, blink_id: str | None
) -> tuple[Blink, ...]:
    with connection.cursor(row_factory=class_row(Blink)) as cursor:
        return tuple(
            cursor.execute(
                statement("read_blinks"), {"user_id": user_id, "agent_id": agent_id, "blink_id": blink_id}
            ).fetchall()
        )
