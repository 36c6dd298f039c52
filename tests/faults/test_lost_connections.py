"""A build's connection terminated by the server: at each step's end, inside a publish, at seeded moments."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from orbit_pipelines.building.publish import Published
from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import DatabaseUnavailable
from tests.faults.faulty import (
    ANN,
    PATIENCE,
    Exchanges,
    assert_exact,
    assert_put_right,
    await_true,
    change,
    count_moments,
    memory_of,
    status_of,
)
from tests.tally import Tally
from tests.worlds import World

WHAT_TO_DO = r"connection to PostgreSQL was lost during the build: .*Run the build again"


def terminate(world: World, run: BuildRun) -> None:
    """Have the server end a build's connection, and wait until it has."""
    world.sql("select pg_terminate_backend(%s, %s)", run.connection.info.backend_pid, PATIENCE * 1000)


def build_fails(world: World, run: BuildRun, before: tuple[list[Any], ...]) -> None:
    """Go on with a build whose connection is or will be gone; check what it leaves."""
    with pytest.raises(DatabaseUnavailable, match=WHAT_TO_DO):
        build(run)
    run.connection.close()
    assert list(world.settings.workspaces.iterdir()) == [], "a process that lives on takes its workspace away"
    if memory_of(world) == before:
        # One that wasn't registered yet left nothing to tell of.
        registered = world.sql("select build_id from memory.build where status = 'running'")
        assert [trouble.is_dead for trouble in status_of(world).troubles] == [True] * len(registered)
        assert status_of(world).is_behind
    else:
        assert_exact(world)


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
def test_a_connection_terminated_after_each_step(history: World, full: bool, tally: Tally) -> None:
    random = Random(11)
    steps: list[Callable[[BuildRun], object]] = [
        lambda run: run.build_id,
        BuildRun.extraction,
        BuildRun.pairing,
        BuildRun.chunking,
        BuildRun.embedding,
    ]
    for step in steps:
        change(history, random)
        before = memory_of(history)
        run = history.run(full=full)
        step(run)
        terminate(history, run)
        build_fails(history, run, before)
        assert memory_of(history) == before
        assert [trouble.is_dead for trouble in status_of(history).troubles] == [True]
        assert_put_right(history)
    tally("connections terminated by the server after a step", len(steps))


def terminate_at(world: World, moments: list[int], seed: int) -> int:
    random = Random(seed)
    tried = 0
    for moment in moments:
        change(world, random)
        before = memory_of(world)
        run = world.run(full=random.random() < 0.3)
        exchanges = Exchanges(run.connection, moment, lambda run=run: terminate(world, run))  # type: ignore[misc]
        try:
            build_fails(world, run, before)
            tried += 1
        except pytest.fail.Exception:
            assert exchanges.count <= moment + 1, "the build noticed nothing"
            run.connection.close()
        assert_put_right(world)
    return tried


def test_a_connection_terminated_at_random_moments(history: World, tally: Tally) -> None:
    history.build()
    change(history, Random(12))
    moments = count_moments(history.run())
    random = Random(13)
    tried = terminate_at(history, [random.randint(1, moments) for _ in range(12)], seed=14)
    tally("connections terminated by the server at an exchange, seeded", tried)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_a_connection_terminated_at_every_moment(history: World, seed: int, tally: Tally) -> None:
    moments = count_moments(history.run())
    tally(
        "connections terminated by the server at an exchange, every one",
        terminate_at(history, list(range(1, moments + 1)), seed),
    )


@contextmanager
def building(run: BuildRun) -> Iterator[Future[Published]]:
    """Build in a thread."""
    with ThreadPoolExecutor(1) as threads:
        yield threads.submit(build, run)


def is_waiting(world: World, run: BuildRun) -> bool:
    """Whether a build's connection waits for somebody, or sleeps."""
    events = "select wait_event_type in ('Lock', 'Timeout') from pg_stat_activity where pid = %s"
    return world.sql(events, run.connection.info.backend_pid) == [(True,)]


HELD = {
    "its turn": "select pg_advisory_xact_lock(1869767169, 0)",
    "a row in the middle of its copy": (
        "insert into memory.chunk (user_id, agent_id, source_key, source_id, chunk_index, content_hash, content, spans,"
        " embedding, origin_class, recipe, build_id)"
        " values ('ann', 'orbitpilot', 'orbitpilot.chat_history', 's:6', 0, '', '', '[]', '[1]', 'owner', '', 0)"
    ),
    "lineage": "lock table memory.change in share mode",
    "the watermark": "select from memory.watermark for update",
    "its own row": "select from memory.build for update",
}


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
@pytest.mark.parametrize("held", HELD)
def test_a_publish_terminated_while_it_waits_for(history: World, held: str, full: bool, tally: Tally) -> None:
    history.build()
    history.say(ANN, "s", "New.", "> Yes.", "Newer.", "> Yes.", "Newest.", "> Yes.")
    before = memory_of(history)
    run = history.run(full=full)
    run.embedding()
    with connect(history.url) as holder:
        holder.execute(HELD[held].encode())
        with building(run) as built:
            await_true(lambda: is_waiting(history, run))
            terminate(history, run)
            with pytest.raises(DatabaseUnavailable, match=WHAT_TO_DO):
                built.result(PATIENCE)
        holder.rollback()
    run.connection.close()
    assert memory_of(history) == before
    assert_put_right(history)
    tally("connections terminated by the server inside a publish", 1)


def test_a_publish_terminated_while_it_commits(history: World, tally: Tally) -> None:
    history.build()
    history.say(ANN, "s", "New.", "> Yes.")
    before = memory_of(history)
    history.sql("create function linger() returns trigger language plpgsql as 'begin perform pg_sleep(600); end'")
    history.sql(
        "create constraint trigger linger after update on memory.watermark deferrable initially deferred"
        " for each row execute function linger()"
    )
    run = history.run()
    with building(run) as built:
        await_true(lambda: is_waiting(history, run))
        terminate(history, run)
        with pytest.raises(DatabaseUnavailable, match=WHAT_TO_DO):
            built.result(PATIENCE)
    run.connection.close()
    assert memory_of(history) == before
    history.sql("drop function linger cascade")
    assert_put_right(history)
    tally("connections terminated by the server inside a publish", 1)
