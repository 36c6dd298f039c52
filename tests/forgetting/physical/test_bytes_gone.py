from collections.abc import Callable

import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.roles import DatabaseRole, connect_as, grant_roles
from orbit_pipelines.forgetting.physical import bytes_gone
from orbit_pipelines.forgetting.physical.bytes_gone import remove_bytes, tables_of
from orbit_pipelines.forgetting.physical.controls import Controls, try_controls
from orbit_pipelines.forgetting.physical.needles import NeedleKind
from orbit_pipelines.forgetting.physical.still_held import may_still_hold
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.selection import SelectedSession, Selection
from orbit_pipelines.forgetting.traces import Traces, read_traces
from tests.worlds import World

TABLES = ("memory.chunk", "memory.embedding_cache", "memory.change")
FORGOTTEN = Selection("ann", ("orbitpilot",), (SelectedSession("orbitpilot", "s1"),))
PROSE = (
    "The orchard behind the mill was sold in March, and nobody in the village knows yet who bought it or why. "
    "They say a painter from Lyon came twice, measured the wall, and left a note under the door of the old press. "
)


def remember(world: World) -> Traces:
    """Build two sessions; return the traces of the first, whose rows are then deleted."""
    store = world.account("ann")
    world.say(store, "s1", "The plums of the north wall are ripe today.", "> Then pick them before Sunday comes.")
    world.say(store, "s2", "A bicycle needs new brakes and a bell.", "> The shop opens at nine in the morning.")
    world.build()
    traces = read_traces(world.connection, FORGOTTEN, frozenset())
    forget_rows(world)
    return traces


def forget_rows(world: World) -> None:
    world.sql("delete from memory.chunk where session_id = 's1'")
    world.sql("delete from memory.embedding_cache")
    world.sql("update memory.change set content_hash = null where source_id like 's1:%'")


def test_the_bytes_of_deleted_rows_are_in_the_files_before_and_gone_after(world: World) -> None:
    traces = remember(world)

    report = remove_bytes(world.connection, TABLES, traces)

    everything = {NeedleKind.TEXT: 1, NeedleKind.HASH: 1, NeedleKind.VECTOR: 1}
    assert report.wanted == everything
    assert report.found_before == everything
    assert report.found == 0
    assert report.is_rewritten
    assert report.is_proven
    assert report.reservations == ()
    assert set(TABLES) < set(report.locked)


def test_controls_are_found_and_the_one_beyond_sight_is_not(world: World) -> None:
    controls = try_controls(world.connection)

    assert controls.found == dict.fromkeys(("text", "hash", "vector", "compressed text"), True)
    assert controls.unseen == {"compressed text that repeats itself": True}
    assert controls.is_sound
    assert world.sql("select relname from pg_class where relname like 'forget_control%'") == []


def test_rows_that_were_only_hidden_are_found(world: World) -> None:
    """Whatever keeps dead rows in the files, an older reader here, is seen in the files and not taken on trust."""
    store = world.account("ann")
    world.say(store, "s1", "The plums of the north wall are ripe today.")
    world.build()
    traces = read_traces(world.connection, FORGOTTEN, frozenset())
    with connect(world.url) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from memory.build")
        forget_rows(world)

        report = remove_bytes(world.connection, TABLES, traces)

    assert report.found_after == {NeedleKind.TEXT: 1, NeedleKind.HASH: 1, NeedleKind.VECTOR: 1}
    assert not report.is_rewritten
    assert not report.is_proven
    assert "an older transaction" in report.reservations[0]


def test_a_compressed_text_is_found_by_its_beginning(world: World) -> None:
    store = world.account("ann")
    world.say(store, "s1", PROSE * 12)
    world.build(settings=world.settings.model_copy(update={"chunk_characters": 5_000}))
    traces = read_traces(world.connection, FORGOTTEN, frozenset())
    assert traces.compressed == set(traces.contents) != set()
    forget_rows(world)

    report = remove_bytes(world.connection, TABLES, traces)

    assert report.found_before[NeedleKind.TEXT] == 1
    assert report.is_proven


def test_a_compressed_text_beyond_recognition_is_not_computable(world: World) -> None:
    store = world.account("ann")
    world.say(store, "s1", "tick tock " * 400)
    world.build(settings=world.settings.model_copy(update={"chunk_characters": 5_000}))
    traces = read_traces(world.connection, FORGOTTEN, frozenset())
    assert traces.compressed == set(traces.contents) != set()
    forget_rows(world)

    report = remove_bytes(world.connection, TABLES, traces)

    assert report.not_computable[NeedleKind.TEXT] == 1
    assert report.found == 0
    assert not report.is_proven
    assert "bytes of 1 texts: not computable" in report.reservations[0]


def test_bytes_that_stand_in_rows_that_stay_prove_nothing(world: World) -> None:
    store = world.account("ann")
    for session in ("s1", "s2"):
        world.say(store, session, "The plums of the north wall are ripe today.")
    world.build()
    traces = read_traces(world.connection, FORGOTTEN, frozenset())
    forget_rows(world)

    report = remove_bytes(world.connection, TABLES, traces)

    assert report.kept == {NeedleKind.TEXT: 1, NeedleKind.HASH: 1, NeedleKind.VECTOR: 1}
    assert report.found == 0
    assert not report.is_proven


def test_a_role_without_access_to_the_files_says_not_verifiable_here(world: World) -> None:
    traces = remember(world)
    assert grant_roles(world.connection) == ()
    with connect_as(world.url, DatabaseRole.PIPELINE, autocommit=True) as pipeline:
        report = remove_bytes(pipeline, TABLES, traces)

    assert report.not_verifiable is not None
    assert report.is_rewritten
    assert not report.is_proven
    assert "not verifiable here" in report.reservations[0]


def test_a_search_that_misses_its_controls_proves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = remember(world)
    missed: Callable[..., Controls] = lambda _connection: Controls({"text": False}, {}, gone=True)  # noqa: E731
    monkeypatch.setattr(bytes_gone, "try_controls", missed)

    report = remove_bytes(world.connection, TABLES, traces)

    assert report.found == 0
    assert not report.is_proven
    assert "missed its own controls" in report.reservations[0]


def test_every_table_of_a_kind_that_could_hold_text_is_written_anew() -> None:
    assert set(TABLES) <= set(tables_of(KINDS))


def test_what_may_still_hold_the_bytes_is_always_told(world: World) -> None:
    told = may_still_hold(world.connection)

    assert {each.split(":")[0] for each in told} >= {"write-ahead log", "backups and copies of the data folder"}


def test_a_role_that_sees_little_still_tells_what_may_hold_the_bytes(world: World) -> None:
    role = sql.Identifier(f"reader_{world.connection.info.dbname}")
    world.connection.execute(sql.SQL("create role {} login").format(role))
    try:
        url = make_conninfo(world.url, user=f"reader_{world.connection.info.dbname}")
        with connect(url, autocommit=True) as reader:
            assert may_still_hold(reader)
    finally:
        world.connection.execute(sql.SQL("drop role {}").format(role))
