"""Two imports at once: no duplicate, no number given twice, no deadlock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import psycopg
import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.messages import append_message
from orbit_pipelines.history.stream import ParsedSession
from orbit_pipelines.model import Store

KEY = b"k" * 32
PATIENCE = 60
"""Seconds after which a thread that still waits is taken for deadlocked."""


def import_file(url: str, store: Store, sessions: list[ParsedSession], batch_messages: int) -> ImportResult:
    with connect(url) as conn:
        return import_sessions(conn, store, sessions, hash_key=KEY, batch_messages=batch_messages)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_one_history_from_two_processes(
    is_reversed: bool,
    database_url: str,
    connection: psycopg.Connection[Any],
    store: Store,
    conversation: Callable[..., ParsedSession],
) -> None:
    file = [conversation("u1 a1 u2 a2", f"s{n}") for n in range(12)]
    other = file[::-1] if is_reversed else file
    with ThreadPoolExecutor() as threads:
        running = [
            threads.submit(import_file, database_url, store, sessions, batch_messages)
            for sessions, batch_messages in ((file, 4), (other, 9), (file, 1))
        ]
        results = [each.result(timeout=PATIENCE) for each in running]
    assert sum(result.messages_new for result in results) == 48
    assert sum(result.messages_unchanged for result in results) == 96
    assert connection.execute("select count(*), max(pair_index) from memory.pair").fetchone() == (24, 1)
    assert connection.execute("select distinct next_pair_index from orbitpilot.session").fetchall() == [(2,)]


def test_a_chat_waits_for_the_import_of_its_session(
    database_url: str,
    connection: psycopg.Connection[Any],
    store: Store,
    conversation: Callable[..., ParsedSession],
) -> None:
    import_file(database_url, store, [conversation("u1 a1")], 100)
    is_stored, may_end = Event(), Event()

    def file() -> Iterator[ParsedSession]:
        yield conversation("u1 a1 u2 a2")
        yield conversation("u1", "t")
        is_stored.set()
        may_end.wait(PATIENCE)

    def slow_import() -> ImportResult:
        with connect(database_url) as conn:
            return import_sessions(conn, store, file(), hash_key=KEY, batch_messages=1)

    def chat() -> int | None:
        with connect(database_url) as conn:
            return append_message(conn, store, "s", "user", "Meanwhile.").pair_index

    with ThreadPoolExecutor() as threads:
        importing = threads.submit(slow_import)
        assert is_stored.wait(PATIENCE)
        chatting = threads.submit(chat)
        assert not chatting.done()
        may_end.set()
        importing.result(timeout=PATIENCE)
        assert chatting.result(timeout=PATIENCE) == 2


def test_people_do_not_wait_for_each_other(
    database_url: str,
    connection: psycopg.Connection[Any],
    store: Store,
    conversation: Callable[..., ParsedSession],
) -> None:
    connection.execute("insert into orbitpilot.account (user_id) values ('bo')")
    connection.commit()
    import_sessions(connection, store, [conversation("u1 a1")], hash_key=KEY)
    with connection.transaction():
        import_sessions(connection, store, [conversation("u1 a1 u2")], hash_key=KEY)
        assert import_file(database_url, Store("bo"), [conversation("u1 a1")], 100).messages_new == 2
