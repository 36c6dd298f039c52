"""A live chat's way in: one message at the end of a session, under the same rules as an import."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownMessage
from orbit_pipelines.history.accounts import require_account
from orbit_pipelines.history.stream import Role
from orbit_pipelines.model import Store


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """What the database gave a message; ``pair_index`` is None for a reply."""

    message_id: str
    handle: UUID
    pair_index: int | None
    not_remembered: bool


def append_message(
    conn: psycopg.Connection[Any],
    store: Store,
    session_id: str,
    role: Role,
    content: str,
    *,
    author: str | None = None,
    sent_at: datetime | None = None,
    is_partial: bool = False,
    answers: int | None = None,
) -> StoredMessage:
    """Append a message to a session's active branch; a session that doesn't exist begins with it.

    Args:
        conn: commits are the caller's; the session stays locked until then, so that numbers are given in turn.
        store: whose session it is.
        session_id: the session.
        role: who speaks.
        content: the text, free of NUL and lone surrogates.
        author: an actor id, if it isn't the account's user, or the agent.
        sent_at: None for now.
        is_partial: whether a reply was cut short.
        answers: the pair whose question a reply is made for, be it that others were asked since; None for the last.
            Such a reply begins no session.

    Raises:
        UnknownAccount: nobody has the store's user id.
        UnknownMessage: the question to which it is the answer isn't there any more.
    """
    require_account(conn, store.user_id)
    key = {"user_id": store.user_id, "agent_id": store.agent_id, "session_id": session_id}
    if answers is None:
        conn.execute(statement("begin_session"), key)
    conn.execute(
        "select from orbitpilot.session where (user_id, agent_id, session_id) = (%(user_id)s, %(agent_id)s,"
        " %(session_id)s) for update",
        key,
    )
    if answers is not None:
        _require_question(conn, key, answers)
    with conn.cursor() as cursor:
        cursor.execute(
            statement("append_message"),
            {
                **key,
                "message_id": str(uuid4()),
                "role": role,
                "content": content,
                "author": author,
                "sent_at": sent_at,
                "is_partial": is_partial,
                "answers": answers,
            },
        )
        [(message_id, handle, pair_index, not_remembered)] = cursor.fetchall()
    return StoredMessage(message_id, handle, pair_index, not_remembered)


def _require_question(conn: psycopg.Connection[Any], key: dict[str, str], pair_index: int) -> None:
    found = conn.execute(
        "select from orbitpilot.message where (user_id, agent_id, session_id, role, pair_index)"
        " = (%(user_id)s, %(agent_id)s, %(session_id)s, 'user', %(pair_index)s)",
        {**key, "pair_index": pair_index},
    )
    if found.fetchone() is None:
        raise UnknownMessage(f"Question {pair_index} was deleted before its reply was stored; the reply is left out.")
