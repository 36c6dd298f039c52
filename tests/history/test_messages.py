"""A live chat's messages obey the rules of imported ones."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from orbit_pipelines.errors import UnknownAccount, UnknownMessage
from orbit_pipelines.history.flags import set_remembered
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Role
from orbit_pipelines.model import Store

Connection = psycopg.Connection[Any]


@pytest.mark.parametrize("turns", ["uaua", "uuauuau", "auaau", "aa", "u"])
def test_a_chat_is_numbered_as_its_import_would_be(
    turns: str, connection: Connection, store: Store, import_all: Callable[..., ImportResult]
) -> None:
    roles: list[Role] = ["user" if turn == "u" else "assistant" for turn in turns]
    for role in roles:
        append_message(connection, store, "live", role, "words")
    import_all(ParsedSession("file", tuple(ParsedMessage(None, None, role, "words") for role in roles)))

    def numbers(session_id: str) -> list[tuple[Any, ...]]:
        return connection.execute(
            "select position, role, is_active, pair_index, run_index, answers, not_remembered, parent_id is null"
            " from orbitpilot.message where session_id = %s order by position",
            (session_id,),
        ).fetchall()

    assert numbers("live") == numbers("file")
    ledger = "select pair_index, deleted_at from memory.pair where session_id = %s order by 1"
    assert connection.execute(ledger, ("live",)).fetchall() == connection.execute(ledger, ("file",)).fetchall()
    assert connection.execute("select count(distinct next_pair_index) from orbitpilot.session").fetchone() == (1,)


def test_a_chat_goes_on_in_an_imported_session(
    connection: Connection,
    store: Store,
    conversation: Callable[..., ParsedSession],
    import_all: Callable[..., ImportResult],
) -> None:
    import_all(conversation("u1 a1 u2 a2", do_not_remember=True))
    asked = append_message(connection, store, "s", "user", "More?")
    assert (asked.pair_index, asked.not_remembered) == (2, True)
    answered = append_message(connection, store, "s", "assistant", "More.")
    assert (answered.pair_index, answered.not_remembered) == (None, False)
    assert connection.execute(
        "select message_id, handle, parent_id, answers, position, sent_at is not null from orbitpilot.message"
        " where position > 3 order by position"
    ).fetchall() == [
        (asked.message_id, asked.handle, "a2", None, 4, True),
        (answered.message_id, answered.handle, asked.message_id, 2, 5, True),
    ]


def test_a_sibling_of_an_excluded_message_starts_excluded(
    connection: Connection,
    store: Store,
    conversation: Callable[..., ParsedSession],
    import_all: Callable[..., ImportResult],
) -> None:
    import_all(conversation("u0 a0 u1 a1"))
    set_remembered(connection, store, "s", "u1", remembered=False)
    import_all(conversation("u0 a0 | u1 a1"))
    assert append_message(connection, store, "s", "user", "Once more.").not_remembered
    assert not append_message(connection, store, "s", "user", "And another.").not_remembered


def test_a_chat_under_an_old_name_goes_on_after_its_numbers(connection: Connection, store: Store) -> None:
    append_message(connection, store, "s", "user", "words")
    connection.execute("delete from orbitpilot.session")
    assert append_message(connection, store, "s", "user", "words").pair_index == 1


def test_a_late_reply_answers_its_own_question(connection: Connection, store: Store) -> None:
    first = append_message(connection, store, "s", "user", "First?")
    second = append_message(connection, store, "s", "user", "Second?")
    append_message(connection, store, "s", "assistant", "To the first.", answers=first.pair_index)
    third = append_message(connection, store, "s", "user", "Third?")
    append_message(connection, store, "s", "assistant", "To the second.", answers=second.pair_index)
    append_message(connection, store, "s", "assistant", "To the third.", answers=third.pair_index)

    assert connection.execute(
        "select content, pair_index, run_index, answers from orbitpilot.message order by position"
    ).fetchall() == [
        ("First?", 0, 0, None),
        ("Second?", 1, 0, None),
        ("To the first.", None, None, 0),
        ("Third?", 2, 2, None),
        ("To the second.", None, None, 1),
        ("To the third.", None, None, 2),
    ]


@pytest.mark.parametrize("table", ["message", "session"])
def test_a_reply_to_what_was_deleted_brings_nothing_back(connection: Connection, store: Store, table: str) -> None:
    asked = append_message(connection, store, "s", "user", "First?")
    connection.execute(f"delete from orbitpilot.{table}".encode())

    with pytest.raises(UnknownMessage, match="Question 0 was deleted"):
        append_message(connection, store, "s", "assistant", "Late.", answers=asked.pair_index)
    assert connection.execute("select count(*) from orbitpilot.message").fetchone() == (0,)


def test_guests_have_no_history(connection: Connection) -> None:
    with pytest.raises(UnknownAccount):
        append_message(connection, Store("guest"), "s", "user", "words")
