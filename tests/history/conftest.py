"""What the tests of history share: conversations in a short notation, imports, and the tables as they stand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems
from orbit_pipelines.model import Store

HASH_KEY = b"k" * 32


@pytest.fixture
def store(connection: psycopg.Connection[Any]) -> Store:
    """The store of an account that exists."""
    create_account(connection, "ana")
    connection.commit()
    return Store("ana")


@pytest.fixture
def conversation() -> Callable[..., ParsedSession]:
    """Write a session as ``"u1 a1 u2 | a0"``: its branch, each message under the one before, and what it left behind.

    Ids that begin with u are user messages, others replies. ``texts`` says what they say, by id.
    """

    def write(
        turns: str, session_id: str | None = "s", texts: dict[str, str] | None = None, **fields: Any
    ) -> ParsedSession:
        branch, _, left_behind = turns.partition("|")
        messages = []
        parent_id = None
        for message_id in branch.split():
            text = (texts or {}).get(message_id, f"says {message_id}")
            role = "user" if message_id.startswith("u") else "assistant"
            messages.append(ParsedMessage(message_id, parent_id, role, text))  # type: ignore[arg-type]
            parent_id = message_id
        return ParsedSession(session_id, tuple(messages), left_behind=frozenset(left_behind.split()), **fields)

    return write


@pytest.fixture
def import_all(connection: psycopg.Connection[Any], store: Store) -> Callable[..., ImportResult]:
    """Import sessions as one file into ana's store, and commit."""

    def run(*sessions: ParsedSession, **options: Any) -> ImportResult:
        result = import_sessions(connection, store, sessions, hash_key=HASH_KEY, **options)
        connection.commit()
        return result

    return run


@pytest.fixture
def shown(connection: psycopg.Connection[Any]) -> Callable[..., str]:
    """Show a session as ``u1:0/0 a1>0 -u2:1/1``: pair and run, or the pair answered; inactive ones last, with a minus.

    A message that is not remembered has an exclamation mark.
    """

    def show(session_id: str = "s") -> str:
        rows = connection.execute(
            "select message_id, role, is_active, pair_index, run_index, answers, not_remembered"
            " from orbitpilot.message where session_id = %s"
            " order by not is_active, case when is_active then position end, message_id",
            (session_id,),
        ).fetchall()
        return " ".join(
            ("" if is_active else "-")
            + message_id
            + (f":{pair_index}/{run_index}" if role == "user" else f">{'' if answers is None else answers}")
            + ("!" if not_remembered else "")
            for message_id, role, is_active, pair_index, run_index, answers, not_remembered in rows
        )

    return show


@pytest.fixture
def rows(connection: psycopg.Connection[Any]) -> Callable[[], dict[str, list[tuple[Any, ...]]]]:
    """Read every row of history with where and by whom it was written: equal answers mean that nothing was written."""
    tables = ("account", "session", "session_participant", "message", "record", "deletion")

    def read() -> dict[str, list[tuple[Any, ...]]]:
        return {
            table: connection.execute(f"select ctid, xmin, * from {table} order by ctid".encode()).fetchall()
            for table in (*(f"orbitpilot.{table}" for table in tables), "memory.pair")
        }

    return read


@pytest.fixture
def import_lines(connection: psycopg.Connection[Any], store: Store, tmp_path: Path) -> Callable[..., ImportResult]:
    """Import conversations as one file into ana's store, and commit."""

    def run(*conversations: dict[str, Any], problems: Problems | None = None, **options: Any) -> ImportResult:
        path = tmp_path / "log.jsonl"
        path.write_text("\n".join(map(json.dumps, conversations)))
        result = import_file(connection, store, path, hash_key=HASH_KEY, problems=problems or Problems(), **options)
        connection.commit()
        return result

    return run


@pytest.fixture
def told(connection: psycopg.Connection[Any]) -> Callable[[], list[str]]:
    """Show each session as ``q >a secret! >noted | old``: its branch, marks, and what is off the branch."""

    def show() -> list[str]:
        sessions: dict[str, tuple[list[str], list[str]]] = {}
        for session_id, role, content, is_active, not_remembered in connection.execute(
            "select session_id, role, content, is_active, not_remembered from orbitpilot.message"
            " order by session_id, position, content"
        ):
            turn = (">" if role == "assistant" else "") + content + ("!" if not_remembered else "")
            sessions.setdefault(session_id, ([], []))[not is_active].append(turn)
        return sorted(" ".join(branch + (["|", *left] if left else [])) for branch, left in sessions.values())

    return show


@pytest.fixture
def mark(connection: psycopg.Connection[Any], store: Store) -> Callable[[str], None]:
    """Mark the messages that say something as not to be remembered."""

    def run(content: str) -> None:
        found = connection.execute(
            "select session_id, message_id from orbitpilot.message where content = %s and role = 'user'", [content]
        ).fetchall()
        for session_id, message_id in found:
            set_remembered(connection, store, session_id, message_id, remembered=False)

    return run
