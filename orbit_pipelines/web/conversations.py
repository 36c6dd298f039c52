"""The chat's sessions: the one that runs, the ones before, and their threads.

A person has at most one running session with an agent: one that was begun on these pages and isn't closed. Closing it
removes nothing, and wakes no build.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.history.recalled import beginning
from orbit_pipelines.history.stream import Role
from orbit_pipelines.model import Store

CHANNEL = "orbitpilot.web"
"""What tells the pages' own sessions from imported ones, which nobody closes and nobody goes on with here."""

SESSIONS_A_PAGE = 50
LONGEST_BEGINNING = 200


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message as a thread shows it.

    ``blink_id`` is the blink that was caught from it, if any; ``is_blink_from_forgotten``: after its session was
    forgotten, or before.
    """

    message_id: str
    handle: str
    role: Role
    content: str
    sent_at: datetime | None
    is_partial: bool
    not_remembered: bool
    blink_id: str | None
    is_blink_excluded: bool | None
    is_blink_from_forgotten: bool | None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in the list; ``opening`` is its first message."""

    agent_id: str
    session_id: str
    title: str | None
    opening: str | None
    started_at: datetime | None
    closed_at: datetime | None
    messages: int
    is_running: bool
    is_forgotten: bool

    @property
    def beginning(self) -> str:
        """How the first message begins, recalled memory left out."""
        return beginning(self.opening or "", LONGEST_BEGINNING)


def running_session(connection: psycopg.Connection[Any], store: Store) -> str | None:
    """Return the session that is going on, None between two."""
    row = connection.execute(
        "select session_id from orbitpilot.session"
        " where (user_id, agent_id, channel) = (%s, %s, %s) and closed_at is null"
        " order by started_at desc, session_id limit 1",
        [store.user_id, store.agent_id, CHANNEL],
    ).fetchone()
    return None if row is None else str(row[0])


def hold_running_session(connection: psycopg.Connection[Any], store: Store) -> str:
    """Return the session that is going on, begun now if there was none; two tabs at once begin one between them."""
    connection.execute("select from orbitpilot.account where user_id = %s for no key update", [store.user_id])
    found = running_session(connection, store)
    if found is not None:
        return found
    row = connection.execute(
        "insert into orbitpilot.session (user_id, agent_id, session_id, channel, started_at)"
        " values (%s, %s, gen_random_uuid()::text, %s, clock_timestamp()) returning session_id",
        [store.user_id, store.agent_id, CHANNEL],
    ).fetchone()
    return str(row[0]) if row else ""


def close_running_session(connection: psycopg.Connection[Any], store: Store) -> str | None:
    """End the session that is going on, and return it; from then on only memory carries anything out of it."""
    row = connection.execute(
        "update orbitpilot.session set closed_at = now()"
        " where (user_id, agent_id, channel) = (%s, %s, %s) and closed_at is null returning session_id",
        [store.user_id, store.agent_id, CHANNEL],
    ).fetchone()
    return None if row is None else str(row[0])


def read_thread(connection: psycopg.Connection[Any], store: Store, session_id: str) -> tuple[ThreadMessage, ...]:
    """Return a session's messages in order, whether they are to be remembered or not."""
    with connection.cursor(row_factory=class_row(ThreadMessage)) as cursor:
        return tuple(cursor.execute(statement("read_thread"), _key(store, session_id)).fetchall())


def read_session(connection: psycopg.Connection[Any], store: Store, session_id: str) -> SessionSummary | None:
    """Return one session, None where the person has none of that id."""
    with connection.cursor(row_factory=class_row(SessionSummary)) as cursor:
        return cursor.execute(
            statement("list_sessions"),
            {**_key(store, session_id), "channel": CHANNEL, "limit": 1, "offset": 0},
        ).fetchone()


def list_sessions(
    connection: psycopg.Connection[Any], user_id: str, page: int
) -> tuple[tuple[SessionSummary, ...], bool]:
    """Return a page of a person's sessions, of all agents, the newest first; and whether there are older ones."""
    with connection.cursor(row_factory=class_row(SessionSummary)) as cursor:
        found = cursor.execute(
            statement("list_sessions"),
            {
                "user_id": user_id,
                "agent_id": None,
                "session_id": None,
                "channel": CHANNEL,
                "limit": SESSIONS_A_PAGE + 1,
                "offset": (page - 1) * SESSIONS_A_PAGE,
            },
        ).fetchall()
    return tuple(found[:SESSIONS_A_PAGE]), len(found) > SESSIONS_A_PAGE


def _key(store: Store, session_id: str) -> dict[str, str]:
    return {"user_id": store.user_id, "agent_id": store.agent_id, "session_id": session_id}


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message of the person's, found by its handle, which is spelt here as the pages spell it."""

    handle: str
    agent_id: str
    session_id: str
    message_id: str
    role: str
    not_remembered: bool


def find_message(connection: psycopg.Connection[Any], user_id: str, handle: str) -> FoundMessage | None:
    """Return the message that a handle names, None for anything else and for other people's."""
    try:
        given = UUID(handle)
    except ValueError:
        return None
    with connection.cursor(row_factory=class_row(FoundMessage)) as cursor:
        return cursor.execute(
            "select handle::text, agent_id, session_id, message_id, role, not_remembered from orbitpilot.message"
            " where handle = %s and user_id = %s",
            [given, user_id],
        ).fetchone()
