"""Builds that overlap in any order, step by step, with changes between; and builds that go on, or begin, days later."""

import shutil
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from orbit_pipelines.building.run import BuildRun, build
from tests.building.test_incremental_equals_full import USERS, Memory
from tests.faults.faulty import STORES, assert_nothing_stale, assert_put_right, change, entomb
from tests.worlds import World

STEPS: tuple[Callable[[BuildRun], object], ...] = (
    lambda run: run.build_id,
    BuildRun.extraction,
    BuildRun.pairing,
    BuildRun.chunking,
    BuildRun.embedding,
    BuildRun.diff_apply,
)


class Overlapping(Memory):
    """As before, and up to three builds more, each at a step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: list[tuple[BuildRun, int]] = []

    @precondition(lambda self: len(self.under_way) < 3)
    @rule(users=st.sampled_from([(), (), ("ann",), ("bob",), USERS]), full=st.sampled_from([False, False, True]))
    def begin(self, users: tuple[str, ...], full: bool) -> None:
        self.under_way.append((self.world.run(*users, full=full), 0))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), steps=st.integers(1, len(STEPS)))
    def go_on(self, data: st.DataObject, steps: int) -> None:
        number = data.draw(st.integers(0, len(self.under_way) - 1))
        run, done = self.under_way.pop(number)
        for step in STEPS[done : done + steps]:
            step(run)
        if done + steps < len(STEPS):
            self.under_way.insert(number, (run, done + steps))
            return
        assert_nothing_stale(self.world, run.build_id)
        run.close()
        run.connection.close()

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        run, _ = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        run.connection.close()

    def teardown(self) -> None:
        for run, done in self.under_way:
            for step in STEPS[done:]:
                step(run)
            assert_nothing_stale(self.world, run.build_id)
            run.close()
            run.connection.close()
        super().teardown()


def overlap(new_world: Callable[[], World], examples: int, steps: int) -> None:
    machine = type("Machine", (Overlapping,), {"make_world": staticmethod(new_world)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
        ),
    )


def test_builds_that_overlap_in_any_order_publish_nothing_stale(new_world: Callable[[], World]) -> None:
    overlap(new_world, examples=6, steps=30)


@pytest.mark.soak
def test_builds_that_overlap_for_thousands_of_steps(new_world: Callable[[], World]) -> None:
    overlap(new_world, examples=100, steps=80)


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
def test_a_build_that_goes_on_days_later_publishes_nothing_stale(history: World, full: bool) -> None:
    random = Random(61)
    old = history.run(full=full)
    old.embedding()
    for _ in range(3):
        change(history, random)
        entomb(history, random.choice(STORES), "t")
        history.build()
    before = history.chunks()
    build(old)
    old.connection.close()
    assert history.chunks() == before
    assert_nothing_stale(history, old.build_id)
    assert_put_right(history)


def keep_workspace(run: BuildRun) -> None:
    shutil.copytree(run.workspace.root, run.workspace.root.parent.with_name("kept"))


def restore_workspace(run: BuildRun) -> None:
    shutil.copytree(run.workspace.root.parent.with_name("kept"), run.workspace.root)


@pytest.fixture
def interrupted(history: World) -> BuildRun:
    """A build that died with everything staged, whose workspace somebody kept; others were published since."""
    history.build()
    change(history, Random(62))
    run = history.run()
    run.embedding()
    keep_workspace(run)
    run.connection.close()
    entomb(history, STORES[0], "t")
    change(history, Random(63))
    history.build()
    change(history, Random(64))
    return run


def test_a_re_execution_begins_at_extraction_and_the_old_frames_go(history: World, interrupted: BuildRun) -> None:
    restore_workspace(interrupted)
    assert_put_right(history)


def test_the_same_run_executed_again_on_restored_frames_publishes_nothing_stale(
    history: World, interrupted: BuildRun
) -> None:
    restore_workspace(interrupted)
    again = history.run()
    again.run_id = interrupted.run_id
    build(again)
    again.connection.close()
    assert_nothing_stale(history, again.build_id)
    assert_put_right(history)


def test_frames_restored_before_anything_else_was_published_are_checked_again(history: World) -> None:
    history.build()
    change(history, Random(65))
    run = history.run()
    run.embedding()
    keep_workspace(run)
    run.connection.close()
    entomb(history, STORES[0], "t")
    change(history, Random(66))
    shutil.rmtree(run.workspace.root)
    restore_workspace(run)
    again = history.run()
    again.run_id = run.run_id
    build(again)
    again.connection.close()
    assert_nothing_stale(history, again.build_id)
    assert_put_right(history)
