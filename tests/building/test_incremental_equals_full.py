"""Promises 1 to 5 under anything that can change: after every build, memory is what a rebuild from nothing gives."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from orbit_pipelines.building import shares
from orbit_pipelines.forgetting.admission import Rule, RuleKind, add_rules, list_rules, remove_rules
from orbit_pipelines.lineage.replay import replay_differences
from orbit_pipelines.model import Store
from orbit_pipelines.sources.administration import assign_source, create_plan, set_cap, switch_source, unassign_source
from orbit_pipelines.sources.records import delete_record
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.worlds import World

USERS = ("ann", "bob")
SOURCES = ("blink.blinks", "files.documents", "profile.facts", "orbitpilot.chat_history")
# Few texts, so that pairs, people and agents share them; one long enough for several chunks.
RULES = [
    Rule(RuleKind.SESSION_KIND, "chat"),
    Rule(RuleKind.SESSION_KIND, "cron", "ann"),
    Rule(RuleKind.PARTICIPANT, "guest"),
    Rule(RuleKind.PARTICIPANT, "guest", agent_id="other"),
    Rule(RuleKind.CHANNEL, "web", "bob"),
]
TEXTS = ("tea", "I like jam.", "été", "word " * 60, "")
stores = st.sampled_from([Store("ann"), Store("ann", "other"), Store("bob")])
sessions = st.sampled_from(["s", "s:1"])
texts = st.sampled_from(TEXTS)


@pytest.fixture(autouse=True)
def _shares_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some publishes come in several shares."""
    monkeypatch.setattr(shares, "MOST_ROWS", 12)


class Memory(RuleBasedStateMachine):
    """Everything people, administrators and the application do, with builds between."""

    make_world: Callable[[], World]

    def __init__(self) -> None:
        super().__init__()
        self.world = type(self).make_world()
        self.world.settings = self.world.settings.model_copy(update={"chunk_characters": 120, "batch_messages": 5})
        create_plan(self.world.connection, "small", title="Small", included_sources=3)
        for user, plan in zip(USERS, ("default", "small"), strict=True):
            self.world.account(user, plan)
        self.source_ids: dict[tuple[str, ...], str] = {}
        self.admitted_below: dict[tuple[str, ...], int] = {}

    @rule(store=stores, session=sessions, role=st.sampled_from(["user", "user", "assistant"]), text=texts)
    def say(self, store: Store, session: str, role: str, text: str) -> None:
        self.world.say(store, session, text if role == "user" else f"> {text}")

    def some_message(self, data: st.DataObject, role: str = "%") -> tuple[Any, ...] | None:
        rows = self.world.sql(
            "select user_id, agent_id, session_id, message_id from orbitpilot.message where role like %s"
            " order by user_id, agent_id, session_id, position",
            role,
        )
        return data.draw(st.sampled_from(rows)) if rows else None

    def update(self, key: tuple[Any, ...] | None, assignment: str, *values: Any) -> None:
        if key:
            self.world.sql(
                f"update orbitpilot.message set {assignment} where (user_id, agent_id, session_id, message_id)"
                " = (%s, %s, %s, %s)",
                *values,
                *key,
            )

    @rule(data=st.data(), text=texts)
    def edit(self, data: st.DataObject, text: str) -> None:
        self.update(self.some_message(data), "content = %s", text)

    @rule(data=st.data())
    def toggle(self, data: st.DataObject) -> None:
        self.update(self.some_message(data, "user"), "not_remembered = not not_remembered")

    @rule(data=st.data())
    def switch_branch(self, data: st.DataObject) -> None:
        self.update(self.some_message(data), "is_active = not is_active")

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if key := self.some_message(data):
            self.world.sql(
                "delete from orbitpilot.message where (user_id, agent_id, session_id, message_id) = (%s, %s, %s, %s)",
                *key,
            )

    @rule(store=stores, session=sessions)
    def delete_session(self, store: Store, session: str) -> None:
        self.world.sql(
            "delete from orbitpilot.session where (user_id, agent_id, session_id) = (%s, %s, %s)",
            store.user_id,
            store.agent_id,
            session,
        )

    @rule(store=stores, session=sessions)
    def forget(self, store: Store, session: str) -> None:
        self.world.sql(
            "insert into memory.tombstone (user_id, agent_id, session_id) values (%s, %s, %s) on conflict do nothing",
            store.user_id,
            store.agent_id,
            session,
        )

    @rule(store=stores, session=sessions, kind=st.sampled_from(["chat", "cron", "hook"]))
    def change_kind(self, store: Store, session: str, kind: str) -> None:
        self.world.sql(
            "update orbitpilot.session set session_kind = %s where (user_id, agent_id, session_id) = (%s, %s, %s)",
            kind,
            store.user_id,
            store.agent_id,
            session,
        )

    @rule(store=stores, session=sessions, taker=st.sampled_from(USERS))
    def move_session(self, store: Store, session: str, taker: str) -> None:
        taken = self.world.sql(
            "select 1 from memory.pair where (user_id, agent_id, session_id) = (%s, %s, %s)",
            taker,
            store.agent_id,
            session,
        )
        if not taken:
            self.admitted_below.pop((store.user_id, store.agent_id, session), None)
            self.admitted_below.pop((taker, store.agent_id, session), None)
            self.world.sql(
                "update orbitpilot.session set user_id = %s where (user_id, agent_id, session_id) = (%s, %s, %s)",
                taker,
                store.user_id,
                store.agent_id,
                session,
            )

    @rule(of=st.sampled_from(RULES))
    def admit_no_more(self, of: Rule) -> None:
        add_rules(self.world.connection, [of])

    @rule(data=st.data())
    def admit_again(self, data: st.DataObject) -> None:
        if rules := list_rules(self.world.connection):
            remove_rules(self.world.connection, rule_ids=[data.draw(st.sampled_from(rules)).rule_id])

    @rule(store=stores, session=sessions, comes=st.booleans())
    def participate(self, store: Store, session: str, comes: bool) -> None:
        insert = (
            "insert into orbitpilot.session_participant select user_id, agent_id, session_id, 'guest'"
            " from orbitpilot.session where (user_id, agent_id, session_id) = (%s, %s, %s) on conflict do nothing"
        )
        delete = "delete from orbitpilot.session_participant where (user_id, agent_id, session_id) = (%s, %s, %s)"
        self.world.sql(insert if comes else delete, store.user_id, store.agent_id, session)

    @rule(store=stores, session=sessions, channel=st.sampled_from(["web", " web ", "Web", None]))
    def change_channel(self, store: Store, session: str, channel: str | None) -> None:
        self.world.sql(
            "update orbitpilot.session set channel = %s where (user_id, agent_id, session_id) = (%s, %s, %s)",
            channel,
            store.user_id,
            store.agent_id,
            session,
        )

    @rule(store=stores, source=st.sampled_from(SOURCES[:3]), key=st.sampled_from("ab"), text=texts)
    def record(self, store: Store, source: str, key: str, text: str) -> None:
        self.world.record(store, source, key, text)

    @rule(data=st.data(), action=st.sampled_from(["exclude", "include", "delete"]))
    def change_record(self, data: st.DataObject, action: str) -> None:
        rows = self.world.sql(
            "select user_id, agent_id, source_key, source_id from orbitpilot.record order by 1, 2, 3, 4"
        )
        if rows:
            user, agent, source, key = data.draw(st.sampled_from(rows))
            if action == "delete":
                delete_record(self.world.connection, Store(user, agent), source, key)
            else:
                self.world.exclude(Store(user, agent), source, key, excluded=action == "exclude")

    @rule(user=st.sampled_from(USERS), plan=st.sampled_from(["default", "small", None]))
    def change_plan(self, user: str, plan: str | None) -> None:
        self.world.sql("update orbitpilot.account set plan_key = %s where user_id = %s", plan, user)

    @rule(plan=st.sampled_from(["default", "small"]))
    def make_default(self, plan: str) -> None:
        with self.world.connection.transaction():
            self.world.sql("update orbitpilot.plan set is_default = false")
            self.world.sql("update orbitpilot.plan set is_default = true where plan_key = %s", plan)

    @rule(plan=st.sampled_from(["default", "small"]), cap=st.integers(0, 4))
    def change_cap(self, plan: str, cap: int) -> None:
        set_cap(self.world.connection, plan, cap)

    @rule(plan=st.sampled_from(["default", "small"]), source=st.sampled_from(SOURCES), visible=st.booleans())
    def assign(self, plan: str, source: str, visible: bool) -> None:
        assign_source(self.world.connection, plan, source, is_visible=visible)

    @rule(plan=st.sampled_from(["default", "small"]), source=st.sampled_from(SOURCES))
    def unassign(self, plan: str, source: str) -> None:
        unassign_source(self.world.connection, plan, source)

    @rule(source=st.sampled_from(SOURCES), on=st.booleans())
    def switch(self, source: str, on: bool) -> None:
        switch_source(self.world.connection, source, in_rag=on)

    @rule(order=st.permutations(range(1, 5)))
    def reorder_registry(self, order: list[int]) -> None:
        self.world.sql(
            "update orbitpilot.memory_source as s set position = o.position"
            " from unnest(%s::text[], %s::int[]) as o (source_key, position) where o.source_key = s.source_key",
            list(SOURCES),
            order,
        )

    @rule(characters=st.sampled_from([120, 60]))
    def change_recipe(self, characters: int) -> None:
        self.world.settings = self.world.settings.model_copy(update={"chunk_characters": characters})

    @rule(users=st.sampled_from([(), (), (), ("ann",), ("bob",), USERS]), full=st.sampled_from([False, False, True]))
    def build(self, users: tuple[str, ...], full: bool) -> None:
        known = self.known_vectors()
        counted = self.world.embedder.texts_embedded
        published = self.world.build(*users, full=full)
        expected = rebuild_from_scratch(self.world, *users)
        stored = stored_chunks(self.world, *users)
        assert stored.drop("build_id", strict=False).rows() == expected.select(stored.columns).rows()
        # Embedded exactly once: what neither the cache nor a live chunk of the store had.
        misses = set(expected.select("user_id", "agent_id", "content_hash").rows()) - known
        assert published.embedded == self.world.embedder.texts_embedded - counted == len(misses)
        self.lineage_replays()
        self.nothing_excluded_is_stored()
        self.nothing_kept_out_is_stored(users or USERS)

    def known_vectors(self) -> set[tuple[Any, ...]]:
        return set(
            self.world.sql(
                "select user_id, agent_id, content_hash from memory.embedding_cache"
                " union select user_id, agent_id, content_hash from memory.chunk"
            )
        )

    def lineage_replays(self) -> None:
        differences = replay_differences(self.world.connection)
        assert (differences.missing, differences.extra, differences.hash_differs) == (0, 0, 0)

    def nothing_excluded_is_stored(self) -> None:
        """Asked of the tables by another road than the build's own: no chunk that the last build could have dropped."""
        if self.world.sql("select status from memory.build order by build_id desc limit 1") != [("published",)]:
            return
        users = self.world.sql("select scope from memory.build order by build_id desc limit 1")[0][0].get("users")
        held = self.world.sql(
            "select c.source_id from memory.chunk as c join orbitpilot.message as m"
            "   on (m.user_id, m.agent_id, m.session_id, m.message_id)"
            "    = (c.user_id, c.agent_id, c.session_id, c.message_id)"
            " where (m.not_remembered or not m.is_active) and (%s::text[] is null or m.user_id = any(%s))",
            users,
            users,
        )
        assert held == []
        forgotten = self.world.sql(
            "select c.source_id from memory.chunk as c join memory.tombstone as t"
            " using (user_id, agent_id, session_id) where %s::text[] is null or c.user_id = any(%s)",
            users,
            users,
        )
        assert forgotten == []

    def nothing_kept_out_is_stored(self, users: tuple[str, ...]) -> None:
        """By another road than the build's own: of sessions that rules match, no more pairs than memory once had."""
        rules = list_rules(self.world.connection)
        matched = {
            tuple(key)
            for *key, kind, channel, actors, is_forgotten in self.world.sql(
                "select s.user_id, s.agent_id, s.session_id, s.session_kind, s.channel,"
                " array(select actor_id from orbitpilot.session_participant as p where (p.user_id, p.agent_id,"
                "   p.session_id) = (s.user_id, s.agent_id, s.session_id)),"
                " exists (select from memory.tombstone as t where (t.user_id, t.agent_id, t.session_id)"
                "   = (s.user_id, s.agent_id, s.session_id))"
                " from orbitpilot.session as s where s.user_id = any(%s)",
                list(users),
            )
            for rule in rules
            if not is_forgotten
            and rule.user_id in (None, key[0])
            and rule.agent_id in (None, key[1])
            and rule.value
            in {"session_kind": [kind], "channel": [(channel or "").strip()], "participant": actors}[rule.kind]
        }
        kept = {
            tuple(key): below
            for *key, below in self.world.sql(
                "select user_id, agent_id, session_id, admitted_below from memory.session_admission"
                " where user_id = any(%s)",
                list(users),
            )
        }
        assert kept.keys() == matched
        for key, below in kept.items():
            assert self.admitted_below.get(key, below) == below
            stored = self.world.sql(
                "select source_id from memory.chunk where (user_id, agent_id, session_id) = (%s, %s, %s)"
                " and source_key = 'orbitpilot.chat_history'",
                *key,
            )
            assert all(int(source_id.rpartition(":")[2]) < below for (source_id,) in stored)
        others = {key: below for key, below in self.admitted_below.items() if key[0] not in users}
        self.admitted_below = {**others, **kept}

    @invariant()
    def source_ids_never_change(self) -> None:
        rows = self.world.sql("select user_id, agent_id, session_id, message_id, pair_index from memory.pair")
        now = {row[:4]: row[4] for row in rows}
        for message, number in now.items():
            assert self.source_ids.setdefault(message, number) == number

    @rule(step=st.sampled_from(["extraction", "pairing", "chunking", "embedding"]), full=st.booleans())
    def crash(self, step: str, full: bool) -> None:
        run = self.world.run(full=full)
        getattr(run, step)()
        run.connection.close()

    @rule()
    def build_twice(self) -> None:
        self.world.build()
        before = self.world.chunks()
        assert self.world.build().added == 0
        assert self.world.chunks() == before
        assert self.world.sql("select status from memory.build order by build_id desc limit 1") == [("unchanged",)]

    def teardown(self) -> None:
        try:
            self.build((), full=False)
        finally:
            self.world.close()


def check(new_world: Callable[[], World], examples: int, steps: int) -> None:
    machine = type("Machine", (Memory,), {"make_world": staticmethod(new_world)})
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


def test_whatever_happens_memory_is_what_a_rebuild_from_nothing_would_give(new_world: Callable[[], World]) -> None:
    check(new_world, examples=12, steps=25)


@pytest.mark.soak
def test_whatever_happens_for_thousands_of_steps(new_world: Callable[[], World]) -> None:
    check(new_world, examples=150, steps=60)
