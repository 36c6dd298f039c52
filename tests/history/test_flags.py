"""One row's flag, and nothing else."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownMessage, UnknownRecord
from orbit_pipelines.history.flags import FlagChange, set_record_excluded, set_remembered
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.stream import ParsedSession
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record

Connection = psycopg.Connection[Any]
Rows = Callable[[], dict[str, list[tuple[Any, ...]]]]


def test_only_the_message_s_own_row_is_written(
    connection: Connection,
    store: Store,
    conversation: Callable[..., ParsedSession],
    import_all: Callable[..., ImportResult],
    rows: Rows,
) -> None:
    import_all(conversation("u1 a1 u2"), conversation("u1 a1", "t"))
    before = rows()
    assert set_remembered(connection, store, "s", "u1", remembered=False) == FlagChange(
        is_excluded=True, was_changed=True
    )
    connection.commit()
    after = rows()
    assert {table for table in before if before[table] != after[table]} == {"orbitpilot.message"}
    assert len(set(before["orbitpilot.message"]) - set(after["orbitpilot.message"])) == 1
    assert connection.execute(
        "select session_id, message_id, flag_xid > content_xid from orbitpilot.message where not_remembered"
    ).fetchall() == [("s", "u1", True)]


def test_a_flag_that_stands_is_not_written_again(
    connection: Connection,
    store: Store,
    conversation: Callable[..., ParsedSession],
    import_all: Callable[..., ImportResult],
    rows: Rows,
) -> None:
    import_all(conversation("u1"))
    before = rows()
    assert set_remembered(connection, store, "s", "u1", remembered=True) == FlagChange(
        is_excluded=False, was_changed=False
    )
    assert rows() == before


@pytest.mark.parametrize(
    ("user_id", "session_id", "message_id", "words"),
    [
        ("ana", "s", "a1", "role 'assistant'"),
        ("ana", "s", "u9", "Session 's' has no message 'u9'"),
        ("ana", "elsewhere", "u1", "no session 'elsewhere'"),
        ("bo", "s", "u1", "User 'bo'"),
    ],
)
def test_what_is_no_user_message_can_not_be_flagged(
    user_id: str,
    session_id: str,
    message_id: str,
    words: str,
    connection: Connection,
    conversation: Callable[..., ParsedSession],
    import_all: Callable[..., ImportResult],
) -> None:
    import_all(conversation("u1 a1"))
    with pytest.raises(UnknownMessage, match=words):
        set_remembered(connection, Store(user_id), session_id, message_id, remembered=False)


def test_a_record_has_the_same_eye(connection: Connection, store: Store, rows: Rows) -> None:
    put_record(connection, store, "blink.blinks", "b1", "Tea without sugar.")
    put_record(connection, store, "profile.facts", "b1", "Lives by the sea.")
    connection.commit()
    assert set_record_excluded(connection, store, "blink.blinks", "b1", excluded=True).was_changed
    connection.commit()
    before = rows()
    assert not set_record_excluded(connection, store, "blink.blinks", "b1", excluded=True).was_changed
    assert rows() == before
    assert connection.execute("select source_key from orbitpilot.record where is_excluded").fetchall() == [
        ("blink.blinks",)
    ]


def test_a_record_that_is_not_there_can_not_be_excluded(connection: Connection, store: Store) -> None:
    with pytest.raises(UnknownRecord, match="'b9'"):
        set_record_excluded(connection, store, "blink.blinks", "b9", excluded=True)
