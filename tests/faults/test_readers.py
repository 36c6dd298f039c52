"""Readers during full rebuilds: each sees one whole memory, the old or the new, never a mix and never none."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from orbit_pipelines.building.run import build
from orbit_pipelines.database.connection import connect
from tests.faults.faulty import Exchanges, await_true
from tests.tally import Tally
from tests.worlds import World

LOOK = (
    b"select count(*), array_agg(distinct substring(content from 'edition \\d+')), array_agg(distinct build_id)"
    b" from memory.chunk"
)
ISOLATION = ["read committed", "repeatable read"]
PAIRS = 40


def print_edition(world: World, number: int) -> None:
    """Have every text say which edition it is of."""
    if number == 0:
        for store in (world.account("ann"), world.account("bob")):
            world.say(store, "s", *(f"Note {n}, edition 0." for n in range(PAIRS)))
    world.sql("update orbitpilot.message set content = regexp_replace(content, 'edition .*', %s)", f"edition {number}.")


Look = tuple[int, list[str], list[int]]


def look(connection: psycopg.Connection[Any]) -> Look:
    [(count, editions, builds)] = connection.execute(LOOK).fetchall()
    return count, editions, builds


def is_whole(seen: Look) -> bool:
    """All pairs, of one edition, published by one build."""
    return seen[0] == 2 * PAIRS and len(seen[1]) == 1 and len(seen[2]) == 1


@contextmanager
def polling(url: str, isolation: str) -> Iterator[list[Look]]:
    """Look, over and over, until told to end; under REPEATABLE READ several times in a transaction."""
    seen: list[Look] = []
    may_end = Event()

    def poll() -> None:
        with connect(url, autocommit=True) as connection:
            while not may_end.is_set():
                with connection.transaction():
                    connection.execute(f"set transaction isolation level {isolation}, read only".encode())
                    looks = [look(connection) for _ in range(5)]
                if isolation == "repeatable read":
                    assert looks == looks[:1] * 5
                seen.extend(looks)

    thread = Thread(target=poll)
    thread.start()
    try:
        await_true(lambda: bool(seen))
        yield seen
        already = len(seen)
        await_true(lambda: len(seen) > already)
    finally:
        may_end.set()
        thread.join()


@pytest.mark.parametrize("isolation", ISOLATION)
def test_a_reader_polling_throughout_full_rebuilds(world: World, isolation: str, tally: Tally) -> None:
    print_edition(world, 0)
    world.build()
    with polling(world.url, isolation) as seen:
        for number in range(1, 4):
            print_edition(world, number)
            world.build(full=True)
    assert all(is_whole(each) for each in seen)
    assert [f"edition {number}" for number in range(4)] == sorted({edition for _, [edition], _ in seen})
    tally("looks of readers during full rebuilds", len(seen))


@pytest.mark.parametrize("isolation", ISOLATION)
def test_a_reader_at_every_moment_of_a_full_rebuild(world: World, isolation: str, tally: Tally) -> None:
    print_edition(world, 0)
    world.build()
    print_edition(world, 1)
    seen: list[Look] = []
    run = world.run(full=True)
    with connect(world.url, autocommit=True) as fresh, connect(world.url) as patient:
        patient.execute(f"set transaction isolation level {isolation}".encode())
        first = look(patient)

        def look_around() -> None:
            seen.append(look(fresh))
            again = look(patient)
            assert again == (first if isolation == "repeatable read" else seen[-1])
            exchanges.postpone()

        exchanges = Exchanges(run.connection, 1, look_around)
        build(run)
        assert look(patient) == (first if isolation == "repeatable read" else seen[-1])
    run.connection.close()
    assert all(is_whole(each) for each in seen)
    assert [each[1] for each in seen] == sorted(each[1] for each in seen), "no reader goes back"
    assert seen[-1][1] == ["edition 1"]
    tally("looks of readers during full rebuilds", 2 * len(seen))
