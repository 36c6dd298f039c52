"""No space left: in the workspaces, in the database."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from orbit_pipelines.building.run import BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.server import server_status
from orbit_pipelines.errors import OutOfSpace
from tests.faults.faulty import (
    Child,
    Orders,
    assert_put_right,
    memory_of,
    only_free,
    populate,
    say_much,
    status_of,
)
from tests.tally import Tally
from tests.worlds import World


def fails_for_space(world: World, run: BuildRun, where: str) -> bool:
    """Build, and check that it did all or nothing and said so; tell whether it found too little space."""
    before = memory_of(world)
    try:
        build(run)
    except OutOfSpace as error:
        said = str(error)
    else:
        return False
    finally:
        run.connection.close()
    assert where in said
    assert "Free some" in said
    assert memory_of(world) == before
    assert [path.name for path in world.settings.workspaces.iterdir()] == []
    [*_, status] = world.sql("select status, note from memory.build order by build_id")
    assert status == ("failed", f"OutOfSpace: {said}")
    assert status_of(world).is_behind
    return True


# Kilobytes: enough for ever more of a build.
FREE_FOR_FILES = (0, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
FREE_FOR_DATABASE = (0, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


def test_a_full_disk_under_the_workspaces(history: World, disk: Path, tally: Tally) -> None:
    history.settings = history.settings.model_copy(update={"home": disk / "home"})
    history.build()
    say_much(history)
    tried = 0
    for kilobytes in FREE_FOR_FILES:
        run = history.run()
        with only_free(disk, kilobytes):
            tried += fails_for_space(history, run, "the build's files")
    assert 3 < tried < len(FREE_FOR_FILES)
    assert_put_right(history)
    tally("full disks under the workspaces", tried)


def test_a_file_that_may_not_grow_is_a_full_disk_too(history: World, tally: Tally) -> None:
    history.build()
    say_much(history)
    before = memory_of(history)
    sizes = (10, 100, 1_000, 4_000)
    for size in sizes:
        child = Child(history, Orders(file_bytes=size))
        assert child.end() == 1
        assert "OutOfSpace: No space left for the build's files" in child.said()
        assert memory_of(history) == before
        assert [path.name for path in history.settings.workspaces.iterdir()] == []
    notes = [build.note or "" for build in status_of(history).troubles]
    assert [note.partition(" in /")[0] for note in notes] == ["OutOfSpace: No space left for the build's files"] * len(
        sizes
    )
    assert all("Free some, or set ORBIT_HOME to another disk, and run the build again" in note for note in notes)
    assert_put_right(history)
    tally("files that may not grow (RLIMIT_FSIZE)", len(sizes))


@pytest.fixture
def cramped(new_world: Callable[[], World], server: EmbeddedServer, disk: Path) -> Iterator[World]:
    """A world with a history whose database lies on the small disk, all but its write-ahead log."""
    space = disk / "space"
    space.mkdir(mode=0o700)
    os.chown(space, server.data.stat().st_uid, server.data.stat().st_gid)
    world = new_world()
    populate(world)
    name = sql.Identifier(str(conninfo_to_dict(world.url)["dbname"]))
    move = sql.SQL("alter database {} set tablespace {}")
    world.connection.close()
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("create tablespace small location {}").format(str(space)))
        connection.execute(move.format(name, sql.Identifier("small")))
        world.connection = connect(world.url, autocommit=True)
        try:
            yield world
        finally:
            world.close()
            connection.execute(move.format(name, sql.Identifier("pg_default")))
            connection.execute("drop tablespace small")


def test_a_full_disk_under_the_database(cramped: World, disk: Path, tally: Tally) -> None:
    cramped.build()
    say_much(cramped)
    tried = 0
    for kilobytes in FREE_FOR_DATABASE:
        run = cramped.run()
        with only_free(disk, kilobytes):
            tried += fails_for_space(cramped, run, "the PostgreSQL server")
    assert 3 < tried < len(FREE_FOR_DATABASE)
    assert_put_right(cramped)
    tally("full disks under the database", tried)


def test_a_full_disk_that_takes_no_connection(cramped: World, disk: Path) -> None:
    cramped.sql("reindex table pg_class")  # the next connection writes down what it learns of the catalogue
    with only_free(disk, 0):
        with pytest.raises(OutOfSpace, match=r"takes no connection to database .* Free some"):
            cramped.run()
        assert "takes no connection" in str(server_status(cramped.settings).problem)
    assert_put_right(cramped)
