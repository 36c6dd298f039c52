from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.lineage.replay import KEY, Difference, DifferingChunk, replay, replay_differences
from orbit_pipelines.model import CHAT_HISTORY, DEFAULT_AGENT

if TYPE_CHECKING:
    from tests.lineage.conftest import History

Connection = psycopg.Connection[Any]

SCHEMA = {
    "publish_order": pl.Int64,
    "user_id": pl.String,
    "agent_id": pl.String,
    "source_key": pl.String,
    "source_id": pl.String,
    "chunk_index": pl.Int32,
    "content_hash": pl.String,
    "action": pl.String,
}

Key = tuple[str, int]
Index = dict[Key, str]
Row = tuple[int, str, str, str, str, int, str, str]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Row], list[Index]]:
    """Random builds: their changes, and the index after each. Metadata updates and changed hashes included."""
    keys = st.tuples(st.sampled_from(["s:0", "s:1", "t:0"]), st.integers(0, 1))
    index: Index = {}
    rows: list[Row] = []
    states: list[Index] = []
    for order in range(1, draw(st.integers(1, 5)) + 1):
        wanted = draw(st.dictionaries(keys, st.sampled_from(["h1", "h2", "h3"]), max_size=6))
        for key in index.keys() | wanted.keys():
            old, new = index.get(key), wanted.get(key)
            place = (order, "mara", DEFAULT_AGENT, CHAT_HISTORY, *key)
            if old is not None and old != new:
                rows.append((*place, old, "removed"))
            if new is not None and old != new:
                rows.append((*place, new, "added"))
            if old is not None and old == new and draw(st.booleans()):
                rows.append((*place, new, "updated"))
        index = wanted
        states.append(index)
    return draw(st.permutations(rows)), states


def as_index(frame: pl.DataFrame) -> Index:
    return {(row["source_id"], row["chunk_index"]): row["content_hash"] for row in frame.iter_rows(named=True)}


@settings(deadline=None, max_examples=60)
@given(histories())
def test_replay_ends_in_the_index_after_each_build(history: tuple[list[Row], list[Index]]) -> None:
    rows, states = history
    changes = pl.DataFrame(rows, schema=SCHEMA, orient="row")

    assert as_index(replay(changes)) == states[-1]
    for order, state in enumerate(states, start=1):
        assert as_index(replay(changes, up_to=order)) == state


def test_a_history_without_changes_replays_to_nothing() -> None:
    assert replay(pl.DataFrame(schema=SCHEMA)).columns == [*KEY, "content_hash"]


def test_the_index_is_what_its_changes_replay_to(connection: Connection, five_weeks: list[int]) -> None:
    assert replay_differences(connection).is_sound
    for build in five_weeks:
        assert replay_differences(connection, build_id=build).is_sound


def test_both_replays_agree(connection: Connection, five_weeks: list[int]) -> None:
    changes = pl.DataFrame(
        connection.execute(
            "select publish_order, user_id, agent_id, source_key, source_id, chunk_index,"
            "       encode(content_hash, 'hex'), action from memory.change join memory.build using (build_id)"
        ).fetchall(),
        schema=SCHEMA,
        orient="row",
    )
    stored = connection.execute(
        "select user_id, agent_id, source_key, source_id, chunk_index, encode(content_hash, 'hex') from memory.chunk"
    ).fetchall()
    assert set(replay(changes).iter_rows()) == set(stored)


TAMPERINGS = [
    pytest.param(
        "delete from memory.chunk where source_id = 'garden:1'", Difference.MISSING, "garden:1", id="a chunk deleted"
    ),
    pytest.param(
        "insert into memory.chunk (user_id, agent_id, source_key, source_id, chunk_index, content_hash, content, spans,"
        " embedding, origin_class, recipe, build_id) select user_id, agent_id, source_key, 'garden:9', 0, content_hash,"
        " content, spans, embedding, origin_class, recipe, 7 from memory.chunk where source_id = 'garden:1'",
        Difference.EXTRA,
        "garden:9",
        id="a chunk no build added",
    ),
    pytest.param(
        "insert into memory.chunk (user_id, agent_id, source_key, source_id, chunk_index, content_hash, content, spans,"
        " embedding, origin_class, recipe, build_id) select user_id, agent_id, source_key, 'trip:0', 0, content_hash,"
        " content, spans, embedding, origin_class, recipe, 7 from memory.chunk where source_id = 'garden:1'",
        Difference.EXTRA,
        "trip:0",
        id="a chunk back after its removal",
    ),
    pytest.param(
        "update memory.chunk set content_hash = '\\x00' where source_id = 'garden:1'",
        Difference.HASH_DIFFERS,
        "garden:1",
        id="a hash changed",
    ),
    pytest.param(
        "delete from memory.change where source_id = 'garden:1' and build_id = 7",
        Difference.EXTRA,
        "garden:1",
        id="a change deleted",
    ),
]


@pytest.mark.parametrize(("tampering", "difference", "source_id"), TAMPERINGS)
def test_tampering_shows(
    connection: Connection, five_weeks: list[int], tampering: str, difference: Difference, source_id: str
) -> None:
    connection.execute(tampering.encode())

    for build in (None, five_weeks[-1]):
        found = replay_differences(connection, build_id=build)
        assert not found.is_sound
        assert getattr(found, difference) == 1
        assert found.missing + found.extra + found.hash_differs == 1
        assert found.first == (DifferingChunk(difference, "mara", DEFAULT_AGENT, CHAT_HISTORY, source_id, 0),)


def test_differences_can_be_looked_for_among_some_people(connection: Connection, five_weeks: list[int]) -> None:
    connection.execute("delete from memory.chunk where user_id = 'mara'")

    assert replay_differences(connection, ["noor", "declan"]).is_sound
    assert not replay_differences(connection, ["noor", "mara"]).is_sound


def test_all_differences_are_counted_and_the_first_are_shown(connection: Connection, five_weeks: list[int]) -> None:
    connection.execute("delete from memory.chunk where user_id = 'mara'")

    found = replay_differences(connection, shown=2)

    assert found.missing == 5
    assert [(chunk.source_key, chunk.source_id) for chunk in found.first] == [
        ("blink.blinks", "b-1"),
        (CHAT_HISTORY, "garden:0"),
    ]


def test_changes_apply_in_publish_order_not_in_order_of_ids(connection: Connection, history: "History") -> None:
    early, late = history.build(), history.build(day=1)
    history.change(late, "added", "new_pair", "s:0")
    history.change(early, "removed", "not_remembered", "s:0")
    connection.execute("update memory.build set publish_order = publish_order + 10 where build_id = %s", [early])

    assert replay_differences(connection).is_sound


def test_a_database_without_builds_is_sound(new_database: Callable[[], str]) -> None:
    with psycopg.connect(new_database()) as connection:
        assert replay_differences(connection).is_sound
