"""What pages tell of the next build is what the next build does, whatever happened before it."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from orbit_pipelines.building.states import pair_states
from orbit_pipelines.model import Store
from orbit_pipelines.telling.labels import labels_of
from orbit_pipelines.telling.memory_status import memory_status
from tests.building.test_incremental_equals_full import USERS, Memory
from tests.worlds import World


class Told(Memory):
    """Everything that can happen, with the labels compared after each step and the counts after each build."""

    @invariant()
    def labels_say_what_the_command_line_says(self) -> None:
        for store in (Store("ann"), Store("ann", "other"), Store("bob")):
            states = {
                (row["session_id"], row["message_id"]): "pending" if row["state"] == "pending_return" else row["state"]
                for row in pair_states(self.world.connection, store).iter_rows(named=True)
            }
            told = {
                (session, label.item_id): label
                for session in ("s", "s:1")
                for label in labels_of(self.world.connection, store.user_id, store.agent_id, session).values()
            }
            assert told.keys() == states.keys()
            for key, label in told.items():
                assert label.state == states[key]

    @rule(user=st.sampled_from(USERS), full=st.sampled_from([False, False, True]))
    def build_as_foretold(self, user: str, full: bool) -> None:
        foretold = {source.source_key: source for source in memory_status(self.world.connection, user).sources}
        self.world.build(user, full=full)
        after = memory_status(self.world.connection, user).sources
        for source in after:
            before = foretold[source.source_key]
            assert source.records == before.records + before.additions - before.removals
            assert (source.additions, source.removals, source.changes) == (0, 0, 0)
            assert (source.reason, source.skipped) == (before.reason, before.skipped)
        assert memory_status(self.world.connection, user).last_build is not None


def check(new_world: Callable[[], World], examples: int, steps: int) -> None:
    machine = type("Machine", (Told,), {"make_world": staticmethod(new_world)})
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


def test_the_next_build_does_what_was_told(new_world: Callable[[], World]) -> None:
    check(new_world, examples=6, steps=20)


@pytest.mark.soak
def test_the_next_build_does_what_was_told_for_thousands_of_steps(new_world: Callable[[], World]) -> None:
    check(new_world, examples=150, steps=60)
