"""Forgetting sessions and building leaves the memory of somebody who never had them, whatever else happened."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from orbit_pipelines.history.messages import append_message
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record
from tests.forgetting.forgetful import forget_in
from tests.worlds import World

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
USERS, AGENTS, SESSIONS = ("ann", "bob"), ("orbitpilot", "other"), ("s", "s:1", "s:1:0")
# Few texts, so that sessions, agents and people share them; one long enough for several chunks.
TEXTS = ("tea is what I like", "I like jam.", "été", "word " * 60)

Place = tuple[str, str, str]
places = st.tuples(st.sampled_from(USERS), st.sampled_from(AGENTS), st.sampled_from(SESSIONS))


@dataclass(frozen=True)
class Said:
    """A turn in a session; ``flagged`` marks it as not to be remembered."""

    place: Place
    is_users: bool
    text: str
    flagged: bool


@dataclass(frozen=True)
class Noted:
    """A record, taken from a session."""

    place: Place
    key: str
    text: str


@dataclass(frozen=True)
class Built:
    """A build."""

    is_full: bool


Event = Said | Noted | Built
texts = st.sampled_from(TEXTS)
saying = st.builds(Said, places, st.booleans(), texts, st.sampled_from([False, False, True]))
noting = st.builds(Noted, places, st.sampled_from(["a", "b"]), texts)
building = st.builds(Built, st.booleans())


@dataclass
class Life:
    """One world that examples live in one after the other, each with people of its own."""

    world: World
    number: int = 0
    turns: int = 0

    def begin(self, number: int) -> None:
        """Make the people of the next example."""
        self.number, self.turns = number, 0
        for user in USERS:
            self.world.account(self.name(user))

    def name(self, user: str) -> str:
        """Return the user id somebody has in this example."""
        return f"{user}-{self.number}"

    def live(self, events: list[Event], unseen: frozenset[Place] = frozenset()) -> None:
        """Let events happen, but for those of sessions that are never seen."""
        for event in events:
            self.turns += 1
            match event:
                case Built():
                    self.world.build(full=event.is_full)
                case Said() if event.place not in unseen:
                    self.say(event)
                case Noted() if event.place not in unseen:
                    user, agent, session = event.place
                    put_record(
                        self.world.connection, Store(self.name(user), agent), "blink.blinks",
                        # A key of its own for each session, so that no record moves from one to another.
                        f"{session}/{event.key}", event.text, origin_session_id=session,
                        recorded_at=BEGAN,
                    )  # fmt: skip

    def say(self, event: Said) -> None:
        """Append a turn, at a time that depends on nothing but its place among the events."""
        user, agent, session = event.place
        store = Store(self.name(user), agent)
        role: Any = "user" if event.is_users else "assistant"
        at = BEGAN + timedelta(minutes=self.turns)
        stored = append_message(self.world.connection, store, session, role, event.text, sent_at=at)
        if event.flagged and event.is_users:
            self.world.remember(store, session, stored.message_id, remembered=False)

    def forget(self, doomed: frozenset[Place], *, with_build_prepared: bool) -> None:
        """Forget sessions, a person and agent at a time; a build may have been prepared before."""
        run = self.world.run() if with_build_prepared else None
        if run is not None:
            run.embedding()
        for user, agent in sorted({place[:2] for place in doomed}):
            ids = tuple(session for *store, session in sorted(doomed) if tuple(store) == (user, agent))
            forget_in(self.world, self.name(user), agent_id=agent, sessions=ids)
        if run is not None:
            run.diff_apply()
            run.close()
            run.connection.close()

    def memory(self) -> list[tuple[Any, ...]]:
        """Return all that memory holds of this example's people, but for ids that differ from world to world."""
        return self.world.sql(
            "select split_part(user_id, '-', 1), agent_id, source_key, source_id, chunk_index, content_hash,"
            " session_id, cardinality(reply_message_ids), content, spans, embedding::text, origin_class, session_kind,"
            " sent_at, recipe"
            " from memory.chunk where user_id like %s order by 1, 2, 3, 4, 5",
            f"%-{self.number}",
        )


def test_forgetting_equals_never_having_seen(new_world: Callable[[], World]) -> None:
    lives = Life(new_world()), Life(new_world())
    for life in lives:
        life.world.settings = life.world.settings.model_copy(
            update={"hash_key": SecretStr("ab" * 32), "chunk_characters": 120, "batch_messages": 5}
        )
    numbers = count(1)

    # No shrinking: each step would live two lives more.
    @settings(max_examples=12, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck))
    @given(
        before=st.lists(st.one_of(saying, saying, saying, noting, building), min_size=3, max_size=14),
        doomed=st.frozensets(places, min_size=1, max_size=3),
        after=st.lists(st.one_of(saying, building), max_size=5),
        with_build_prepared=st.booleans(),
        ends_full=st.booleans(),
    )
    @example(
        before=[Said(("ann", "orbitpilot", session), True, TEXTS[0], False) for session in SESSIONS]
        + [Built(False), Noted(("ann", "orbitpilot", "s"), "a", TEXTS[0]), Built(False)],
        doomed=frozenset({("ann", "orbitpilot", "s")}),
        after=[Said(("ann", "orbitpilot", "s"), True, TEXTS[1], False)],
        with_build_prepared=True,
        ends_full=False,
    )
    def holds(
        before: list[Event], doomed: frozenset[Place], after: list[Event], with_build_prepared: bool, ends_full: bool
    ) -> None:
        forgetful, innocent = lives
        number = next(numbers)
        for life in lives:
            life.begin(number)
        forgetful.live(before)
        forgetful.forget(doomed, with_build_prepared=with_build_prepared)
        forgetful.live(after)
        forgetful.world.build(full=ends_full)
        innocent.live(before, doomed)
        innocent.live(after, doomed)
        innocent.world.build()
        assert forgetful.memory() == innocent.memory()
        assert replay_differences(forgetful.world.connection).is_sound

    holds()
