"""Builds in several processes at once, of everyone and of some, beside everything people do: each ends."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from random import Random
from threading import Event, Thread

import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession
from tests.faults.faulty import (
    STORES,
    Child,
    Orders,
    assert_nothing_stale,
    assert_put_right,
    await_true,
    change,
    status_of,
    toggle,
)
from tests.tally import Tally
from tests.worlds import World

WHO: tuple[tuple[str, ...], ...] = ((), (), ("ann",), ("bob",), ("ann", "bob"))


def beside(world: World, url: str) -> World:
    """The same world over a connection of its own, for a thread."""
    return World(url, world.settings, connect(url, autocommit=True))


@contextmanager
def going_on(world: World, seed: int) -> Iterator[list[str]]:
    """Change all sorts of things for as long as the builds run; yield what was done."""
    done: list[str] = []
    may_end = Event()

    def live() -> None:
        random = Random(seed)
        mine = beside(world, world.url)
        files = count()
        while not may_end.is_set():
            if random.random() < 0.3:
                import_a_file(mine, random, next(files))
                done.append("import")
            else:
                change(mine, random)
                done.append("change")
        mine.close()

    thread = Thread(target=live)
    thread.start()
    try:
        yield done
        await_true(lambda: len(done) > 0)
    finally:
        may_end.set()
        thread.join()


def import_a_file(world: World, random: Random, number: int) -> None:
    """Import a session that is new or goes on."""
    store = random.choice(STORES)
    messages = []
    for turn in range(2 * random.randint(1, 4)):
        role = "assistant" if turn % 2 else "user"
        parent = f"i{turn - 1}" if turn else None
        messages.append(ParsedMessage(f"i{turn}", parent, role, f"Imported {number}, {turn}."))  # type: ignore[arg-type]
    session = ParsedSession(f"file-{random.randrange(3)}", tuple(messages))
    with connect(world.url) as connection:
        import_sessions(connection, store, [session], hash_key=b"k" * 32)


def build_at_once(world: World, rounds: int, seed: int) -> int:
    random = Random(seed)
    builds = 0
    for number in range(rounds):
        with going_on(world, seed + number):
            children = [
                Child(
                    world,
                    Orders(seconds_a_text=random.choice([0, 0.002])),
                    users=random.choice(WHO),
                    full=random.random() < 0.3,
                )
                for _ in range(3)
            ]
            for child in children:
                assert child.end() == 0, child.said()
            builds += len(children)
        ended = world.sql("select distinct status from memory.build")
        assert set(ended) <= {("published",), ("unchanged",), ("superseded",)}
        assert_put_right(world)
    return builds


def test_three_builds_at_once_beside_changes_and_imports(history: World, tally: Tally) -> None:
    tally("builds in three processes at once, beside changes and imports", build_at_once(history, rounds=2, seed=51))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 500, 100))
def test_three_builds_at_once_many_times(history: World, seed: int, tally: Tally) -> None:
    tally("builds in three processes at once, beside changes and imports", build_at_once(history, rounds=30, seed=seed))


def test_two_first_builds_begin_at_the_same_moment(history: World, tally: Tally) -> None:
    children = [Child(history, Orders(stops=True)) for _ in range(4)]
    for child in children:
        child.go_on_to("begun")
    for child in children:
        child.release()
    for child in children:
        assert child.end() == 0, child.said()
    [(published,)] = history.sql("select count(*) from memory.build where status = 'published'")
    assert published >= 1
    assert_put_right(history)
    tally("builds in several processes at once", len(children))


def test_a_build_overtaken_twice_gives_up_and_says_so(history: World) -> None:
    run = history.run()
    run.embedding()

    def overtake(step: str, _count: int) -> None:
        if step == "pairing":
            change(history, Random(7))
            history.build()

    history.build()
    change(history, Random(6))
    run.on_progress = overtake
    assert run.diff_apply().is_superseded
    run.close()
    run.connection.close()
    assert [(build.status, build.note) for build in status_of(history).troubles] == []
    assert history.sql("select status, note from memory.build where build_id = %s", run.build_id) == [
        ("superseded", "its source changed before it could publish, twice")
    ]
    assert_put_right(history)


def test_builds_end_while_somebody_toggles_without_a_pause(history: World, tally: Tally) -> None:
    toggles = 0
    may_end = Event()

    def toggle_on() -> None:
        nonlocal toggles
        mine, random = beside(history, history.url), Random(52)
        while not may_end.is_set():
            toggle(mine, random)
            toggles += 1
        mine.close()

    with ThreadPoolExecutor(1) as threads:
        toggling = threads.submit(toggle_on)
        try:
            for number in range(6):
                before = toggles
                await_true(lambda before=before: toggles > before)  # type: ignore[misc]
                run = history.run(full=number % 3 == 0)
                run.embedding()
                run.diff_apply()
                assert_nothing_stale(history, run.build_id)
                run.close()
                run.connection.close()
        finally:
            may_end.set()
            toggling.result()
    assert_put_right(history)
    tally("toggles beside six builds", toggles)
