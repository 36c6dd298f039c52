"""The eye as a page turns it: by the very update that sets a flag, which alone knows how it stands by then.

A page that read the flag first and then set it would undo what another tap had done in between.
"""

from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Store
from orbit_pipelines.sources.blinks import BLINKS_SOURCE


def turn_message(connection: psycopg.Connection[Any], store: Store, session_id: str, message_id: str) -> bool | None:
    """Turn the eye of a user message, and return whether it is closed now; None where there is no such message.

    Args:
        connection: commits are the caller's.
        store: whose message it is.
        session_id: its session.
        message_id: the message's own id, not its handle.
    """
    key = {"agent_id": store.agent_id, "session_id": session_id, "message_id": message_id, "not_remembered": None}
    return _turned(connection, "update_message_flag", store, key)


def turn_blink(connection: psycopg.Connection[Any], store: Store, blink_id: str) -> bool | None:
    """Turn the eye of a blink, and return whether it is closed now; None where the store has no such blink."""
    key = {"agent_id": store.agent_id, "source_key": BLINKS_SOURCE, "source_id": blink_id, "is_excluded": None}
    return _turned(connection, "update_record_flag", store, key)


def _turned(connection: psycopg.Connection[Any], update: str, store: Store, key: dict[str, str | None]) -> bool | None:
    row = connection.execute(statement(update), {"user_id": store.user_id, **key}).fetchone()
    return None if row is None else bool(row[0])
