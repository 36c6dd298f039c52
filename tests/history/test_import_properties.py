"""What holds of any history, however it grows, is edited, branches, rotates or is mirrored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbit_pipelines.database.connection import connect
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Role
from orbit_pipelines.model import Store

Connection = psycopg.Connection[Any]
KEY = b"k" * 32
PEOPLE = count()


class Node(NamedTuple):
    """A message of a tree, under ``parent_id``."""

    message_id: str
    parent_id: str | None
    role: Role


@dataclass
class Tree:
    """A conversation as a chat product keeps it: every message ever written, and where the person is now."""

    session_id: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edits: dict[str, int] = field(default_factory=dict)
    leaf: str | None = None

    def add(self, parent_id: str | None, role: Role) -> None:
        node = Node(f"{role[0]}{len(self.nodes)}", parent_id, role)
        self.nodes[node.message_id] = node
        self.leaf = node.message_id

    def branch(self) -> list[Node]:
        chain: list[Node] = []
        at = self.leaf
        while at is not None:
            chain.append(self.nodes[at])
            at = self.nodes[at].parent_id
        return chain[::-1]

    def session(self, lost_head: int = 0) -> ParsedSession:
        chain = self.branch()
        active = {node.message_id for node in chain}
        return ParsedSession(
            self.session_id,
            tuple(
                ParsedMessage(*node, content=f"{node.message_id}, edited {self.edits.get(node.message_id, 0)} times")
                for node in chain[lost_head:]
            ),
            left_behind=frozenset() if lost_head else frozenset(self.nodes) - active,
        )


class Step(NamedTuple):
    """One thing that happens to one of two conversations, before both are exported and imported again."""

    deed: str
    tree: int
    at: int
    role: Role


GROWING = ("append", "append", "append", "regenerate", "edit", "switch")
ANYTHING = (*GROWING, "rotate", "mirror", "delete", "flag")


def steps(deeds: tuple[str, ...]) -> st.SearchStrategy[list[Step]]:
    step = st.builds(
        Step,
        st.sampled_from(deeds),
        st.integers(0, 1),
        st.integers(0, 30),
        st.sampled_from(["user", "user", "assistant"]),
    )
    return st.lists(step, min_size=1, max_size=12)


@pytest.fixture(scope="module")
def conn(new_database: Callable[[], str]) -> Iterator[Connection]:
    """One database for all examples; each has a person of its own."""
    with connect(new_database(), autocommit=True) as connection:
        yield connection


def new_person(conn: Connection) -> Store:
    store = Store(f"person {next(PEOPLE)}")
    create_account(conn, store.user_id)
    return store


def histories(
    conn: Connection, store: Store, taken: list[Step]
) -> Iterator[tuple[list[Tree], list[ParsedSession], bool]]:
    """Yield, step by step, the trees, the file that shows them, and whether it is to be mirrored."""
    trees = [Tree("one"), Tree("two")]
    for step in taken:
        tree = trees[step.tree]
        chain = tree.branch()
        lost_head = [0, 0]
        if step.deed == "append" or not chain:
            tree.add(tree.leaf, step.role)
        elif step.deed == "regenerate":
            replaced = chain[step.at % len(chain)]
            tree.add(replaced.parent_id, replaced.role)
        elif step.deed == "edit":
            edited = chain[step.at % len(chain)].message_id
            tree.edits[edited] = tree.edits.get(edited, 0) + 1
        elif step.deed == "switch":
            tree.leaf = sorted(tree.nodes)[step.at % len(tree.nodes)]
        elif step.deed == "rotate":
            lost_head[step.tree] = step.at % len(chain)
        elif step.deed in ("delete", "flag"):
            message_id = chain[step.at % len(chain)].message_id
            change: dict[str, bytes] = {
                "delete": b"delete from orbitpilot.message",
                "flag": b"update orbitpilot.message set not_remembered = not not_remembered",
            }
            conn.execute(
                change[step.deed] + b" where (user_id, session_id, message_id) = (%s, %s, %s) and role = 'user'",
                (store.user_id, tree.session_id, message_id),
            )
        file = [tree.session(lost) for tree, lost in zip(trees, lost_head, strict=True)]
        yield trees, file, step.deed == "mirror"


def put(conn: Connection, store: Store, file: list[ParsedSession], **options: Any) -> ImportResult:
    return import_sessions(conn, store, file, hash_key=KEY, **options)


def written(conn: Connection, store: Store) -> list[tuple[Any, ...]]:
    """Every row of a person, with where and by whom it was written."""
    return [
        row
        for table in ("orbitpilot.session", "orbitpilot.message", "memory.pair", "orbitpilot.deletion")
        for row in conn.execute(
            f"select ctid, xmin, each::text from {table} as each where user_id = %s order by ctid".encode(),
            (store.user_id,),
        ).fetchall()
    ]


def ledger(conn: Connection, store: Store) -> dict[tuple[str, int], str]:
    rows = conn.execute(
        "select session_id, pair_index, message_id from memory.pair where user_id = %s", (store.user_id,)
    ).fetchall()
    return {(session_id, pair_index): message_id for session_id, pair_index, message_id in rows}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps(ANYTHING))
def test_numbers_are_stable_and_the_same_file_twice_changes_no_row(conn: Connection, taken: list[Step]) -> None:
    store = new_person(conn)
    known: dict[tuple[str, int], str] = {}
    for _, file, mirror in histories(conn, store, taken):
        put(conn, store, file, mirror=mirror)
        before = written(conn, store)
        assert not put(conn, store, file, mirror=mirror).changed_anything
        assert written(conn, store) == before

        numbers = ledger(conn, store)
        assert {pair: numbers.get(pair) for pair in known} == known, "a number moved"
        known = numbers
        for session_id, next_pair_index in conn.execute(
            "select session_id, next_pair_index from orbitpilot.session where user_id = %s", (store.user_id,)
        ).fetchall():
            given = sorted(number for of, number in numbers if of == session_id)
            assert given == list(range(next_pair_index)), "numbers have a gap"
        assert (
            conn.execute(
                "select message.session_id, message.message_id from orbitpilot.message as message"
                " full join (select * from memory.pair where deleted_at is null) as pair"
                " using (user_id, agent_id, session_id, message_id)"
                " where user_id = %s and role is distinct from 'assistant'"
                " and message.pair_index is distinct from pair.pair_index",
                (store.user_id,),
            ).fetchall()
            == []
        )

        for parsed in file:
            active = conn.execute(
                "select message_id, position, role, run_index from orbitpilot.message"
                " where (user_id, session_id) = (%s, %s) and is_active order by position",
                (store.user_id, parsed.session_id),
            ).fetchall()
            order = [message_id for message_id, *_ in active]
            branch = [message.message_id for message in parsed.messages]
            assert [each for each in order if each in branch] == branch, "the file's order is not kept"
            assert not parsed.left_behind.intersection(order)
            assert len({position for _, position, *_ in active}) == len(active)
            ended: set[int] = set()
            running: set[int] = set()
            for _, _, role, run_index in active:
                if role == "assistant":
                    ended |= running
                    running = set()
                else:
                    assert run_index not in ended, "a run goes past a reply"
                    running.add(run_index)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps(GROWING), batch_messages=st.sampled_from([1, 3, 20_000]))
def test_a_tree_is_stored_as_its_ancestors_say(conn: Connection, taken: list[Step], batch_messages: int) -> None:
    store = new_person(conn)
    trees: list[Tree] = []
    for trees, file, _ in histories(conn, store, taken):  # noqa: B007
        put(conn, store, file, batch_messages=batch_messages)
    for tree in trees:
        rows = conn.execute(
            "select message_id, position, is_active, pair_index, run_index, answers from orbitpilot.message"
            " where (user_id, session_id) = (%s, %s) order by is_active desc, position",
            (store.user_id, tree.session_id),
        ).fetchall()
        number = {message_id: pair_index for message_id, _, _, pair_index, _, _ in rows}
        run = {message_id: run_index for message_id, _, _, _, run_index, _ in rows}
        active = [(message_id, position) for message_id, position, is_active, *_ in rows if is_active]
        assert active == [(node.message_id, place) for place, node in enumerate(tree.branch())]
        for message_id, _, _, pair_index, run_index, answers in rows:
            node = tree.nodes[message_id]
            above = tree.nodes.get(node.parent_id or "")
            if node.role == "user":
                assert run_index == (run[above.message_id] if above and above.role == "user" else pair_index)
            else:
                while above and above.role != "user":
                    above = tree.nodes.get(above.parent_id or "")
                assert answers == (number[above.message_id] if above else None)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps(ANYTHING))
def test_the_size_of_a_batch_does_not_matter(conn: Connection, taken: list[Step]) -> None:
    def ends_as(batch_messages: int) -> tuple[Any, ...]:
        store = new_person(conn)
        results = [
            put(conn, store, [*file, file[0]], mirror=mirror, batch_messages=batch_messages)
            for _, file, mirror in histories(conn, store, taken)
        ]
        rows = conn.execute(
            "select session_id, message_id, parent_id, position, is_active, role, content, not_remembered, pair_index,"
            " answers, run_index from orbitpilot.message where user_id = %s order by session_id, message_id",
            (store.user_id,),
        ).fetchall()
        return results, rows, ledger(conn, store)

    assert ends_as(1) == ends_as(20_000)
