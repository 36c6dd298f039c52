"""Records of the sources beside chat history."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownAccount, UnknownRecord, UnknownSource
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.flags import set_record_excluded
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import delete_record, put_record

Connection = psycopg.Connection[Any]
ANA = Store("ana")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_record_is_written_only_when_something_differs(connection: Connection) -> None:
    create_account(connection, "ana")
    assert put_record(connection, ANA, "files.documents", "d1", "text", title="One", recorded_at=NOON)
    assert not put_record(connection, ANA, "files.documents", "d1", "text", title="One", recorded_at=NOON)
    assert not put_record(connection, ANA, "files.documents", "d1", "text", title="One")
    assert put_record(connection, ANA, "files.documents", "d1", "more", origin_session_id="s", origin_message_id="u1")
    assert connection.execute(
        "select title, content, origin_session_id, origin_message_id, recorded_at from orbitpilot.record"
    ).fetchall() == [(None, "more", "s", "u1", NOON)]


def test_an_edit_leaves_the_eye_as_it_is(connection: Connection) -> None:
    create_account(connection, "ana")
    put_record(connection, ANA, "blink.blinks", "b1", "text")
    set_record_excluded(connection, ANA, "blink.blinks", "b1", excluded=True)
    put_record(connection, ANA, "blink.blinks", "b1", "edited")
    assert connection.execute("select content, is_excluded from orbitpilot.record").fetchone() == ("edited", True)


def test_agents_keep_their_records_apart(connection: Connection) -> None:
    create_account(connection, "ana")
    for store in (ANA, Store("ana", "second")):
        put_record(connection, store, "blink.blinks", "b1", store.agent_id)
    delete_record(connection, ANA, "blink.blinks", "b1")
    assert connection.execute("select agent_id from orbitpilot.record").fetchall() == [("second",)]
    assert connection.execute("select kind, agent_id, source_key, source_id from orbitpilot.deletion").fetchall() == [
        ("record", "orbitpilot", "blink.blinks", "b1")
    ]


def test_what_can_not_be_a_record_is_refused(connection: Connection) -> None:
    with pytest.raises(UnknownAccount):
        put_record(connection, ANA, "blink.blinks", "b1", "text")
    create_account(connection, "ana")
    with pytest.raises(UnknownSource, match="no source 'notes'"):
        put_record(connection, ANA, "notes", "b1", "text")
    with pytest.raises(UnknownSource, match="pairs are made from messages"):
        put_record(connection, ANA, "orbitpilot.chat_history", "b1", "text")
    with pytest.raises(UnknownRecord, match="'b9'"):
        delete_record(connection, ANA, "blink.blinks", "b9")
