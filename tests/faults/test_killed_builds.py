"""A build's process killed outright: at each step's end, at seeded moments, at any time."""

import time
from random import Random

import pytest

from orbit_pipelines.building.locks import lock_bucket
from orbit_pipelines.database.connection import connect
from tests.faults.faulty import (
    STEPS,
    Child,
    Orders,
    assert_put_right,
    await_true,
    change,
    memory_of,
    status_of,
)
from tests.tally import Tally
from tests.worlds import World


def survive(world: World, child: Child, before: tuple[list[object], ...]) -> None:
    """Check what a killed build left, and that the next one puts it right."""
    builds = world.sql("select status from memory.build where build_id = any(%s)", child.builds())
    if builds not in ([("published",)], [("unchanged",)]):
        assert memory_of(world) == before, "readers see the last published state"
        status = status_of(world)
        assert [build.is_dead for build in status.troubles] == [True] * len(builds)
        assert status.is_behind
    assert_put_right(world)
    closed = world.sql("select status from memory.build where build_id = any(%s)", child.builds())
    assert closed == [("died",)] * len(builds) or closed == builds


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
def test_a_build_killed_at_the_end_of_each_step(history: World, full: bool, tally: Tally) -> None:
    random = Random(1)
    for step in STEPS:
        change(history, random)
        before = memory_of(history)
        child = Child(history, Orders(stops=True), full=full)
        child.go_on_to(step)
        child.kill()
        survive(history, child, before)
    tally("builds killed (SIGKILL) at a step's end", len(STEPS))


def kill_at_moments(world: World, moments: list[int], seed: int) -> int:
    random = Random(seed)
    killed = 0
    for moment in moments:
        change(world, random)
        before = memory_of(world)
        child = Child(world, Orders(fatal_moment=moment), full=random.random() < 0.3)
        killed += child.end() != 0
        assert child.process.exitcode in (0, -9), child.said()
        survive(world, child, before)
    return killed


def moments_of_a_build(world: World) -> int:
    world.build()
    change(world, Random(0))
    child = Child(world)
    assert child.end() == 0, child.said()
    return int(child.said())


def test_a_build_killed_at_random_moments(history: World, tally: Tally) -> None:
    moments = moments_of_a_build(history)
    random = Random(2)
    tried = kill_at_moments(history, [random.randint(1, moments) for _ in range(16)], seed=3)
    assert tried > 10
    tally("builds killed (SIGKILL) at an exchange with the server or a file, seeded", tried)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_a_build_killed_at_every_moment(history: World, seed: int, tally: Tally) -> None:
    moments = moments_of_a_build(history)
    tried = kill_at_moments(history, list(range(1, moments + 1)), seed)
    tally("builds killed (SIGKILL) at an exchange with the server or a file, every one", tried)


def kill_any_time(world: World, times: int) -> None:
    random = Random(4)
    for _ in range(times):
        change(world, random)
        before = memory_of(world)
        child = Child(world, Orders(seconds_a_text=0.02), full=random.random() < 0.3)
        time.sleep(random.uniform(0, 0.5))
        child.kill()
        survive(world, child, before)


def test_a_build_killed_any_time(history: World, tally: Tally) -> None:
    kill_any_time(history, 6)
    tally("builds killed (SIGKILL) any time, by another process", 6)


@pytest.mark.soak
def test_a_build_killed_any_time_a_hundred_times(history: World, tally: Tally) -> None:
    kill_any_time(history, 100)
    tally("builds killed (SIGKILL) any time, by another process", 100)


def test_builds_killed_one_after_the_other_are_all_put_right_by_one(history: World, tally: Tally) -> None:
    random = Random(5)
    for step in STEPS[:-1]:
        change(history, random)
        child = Child(history, Orders(stops=True), users=("ann",) if step == "pairing" else ())
        child.go_on_to(step)
        child.process.kill()
        child.end()
    assert_put_right(history)
    tally("builds killed (SIGKILL) at a step's end", len(STEPS) - 1)


def test_a_build_killed_while_it_waits_for_its_turn_does_not_look_alive(history: World, tally: Tally) -> None:
    history.build()
    change(history, Random(6))
    before = memory_of(history)
    child = Child(history)
    with connect(history.url) as holder:
        lock_bucket(holder)
        await_true(lambda: history.sql("select 1 from pg_locks where locktype = 'advisory' and not granted") != [])
        child.kill()
        assert holder.info.transaction_status.name == "INTRANS", "the others are still publishing"
    survive(history, child, before)
    tally("builds killed (SIGKILL) while they wait for a lock", 1)
