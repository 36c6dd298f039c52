"""One embedded PostgreSQL for a test session, one migrated template, one copy of it for each test."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import psutil
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import TupleRow

from orbit_pipelines.database import embedded
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.settings import Settings

if TYPE_CHECKING:
    from tests.running import Runs
    from tests.worlds import World

pytest_plugins = ["tests.worlds", "tests.tally"]

# Nothing is asserted by time: not by hypothesis either.
hypothesis.settings.register_profile("orbit", deadline=None)
hypothesis.settings.load_profile("orbit")

TEMPLATE = "orbit_template"
CREATE_TEMPLATE = (
    "create database orbit_template template template0 encoding 'UTF8' "
    "locale_provider builtin builtin_locale 'C.UTF-8' lc_collate 'C' lc_ctype 'C'"
)
# Nothing of a test outlives it, so nothing needs to reach the disk.
FAST = (
    "alter system set fsync = off",
    "alter system set synchronous_commit = off",
    "alter system set full_page_writes = off",
    "select pg_reload_conf()",
)


ROOM = 4_000_000_000
"""Bytes of free memory that a worker's databases may count on before they are put there."""


def memory_folder() -> Path | None:
    """Return a folder in memory with room for the tests' databases: copying the template there takes a tenth."""
    folder = Path("/dev/shm")
    if not folder.is_dir():
        return None
    # What lies there is memory, and the folder may promise more than there is.
    room = min(shutil.disk_usage(folder).free, psutil.virtual_memory().available)
    return folder if room > ROOM else None


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that is removed at the end; by a later session, where this one is killed."""
    # Not under pytest's own folder: it takes the server's user's access away whenever another session starts.
    for parent in {memory_folder(), Path(tempfile.gettempdir())} - {None}:
        for folder in Path(str(parent)).glob("orbit-tests-*"):
            remove_if_abandoned(folder)
    home = Path(tempfile.mkdtemp(prefix="orbit-tests-", dir=memory_folder())).resolve()
    with (home / "owned").open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        # Under its name it is never seen unlocked while its owner lives.
        (home / "owned").rename(home / "owner")
        try:
            yield home
        finally:
            shutil.rmtree(home, ignore_errors=True)


def remove_if_abandoned(folder: Path) -> None:
    try:
        with (folder / "owner").open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            embedded.stop(EmbeddedServer(folder / "postgres"))
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # owned, or gone by now, or another user's
        pass


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The embedded server of this test session; of each worker under pytest-xdist."""
    with own_folder() as home:
        server = EmbeddedServer(home / "postgres")
        embedded.start(server)
        try:
            with connect(server.url("postgres"), autocommit=True) as connection:
                for statement in FAST:
                    connection.execute(statement.encode())
                connection.execute(CREATE_TEMPLATE)
            migrate(server.url(TEMPLATE))
            yield server
        finally:
            embedded.stop(server)


@pytest.fixture(scope="session")
def drop_database(server: EmbeddedServer) -> Callable[[str], None]:
    """Drop the database of a URL, whoever is connected to it. They would add up: a fresh one has 13 MB."""

    def drop(url: str) -> None:
        name = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))
        with connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(name))

    return drop


@pytest.fixture(scope="session")
def new_database(server: EmbeddedServer) -> Callable[[], str]:
    """Make a migrated database that stays until the session ends, and return its URL."""
    numbers = count()

    def create() -> str:
        name = f"test_{next(numbers)}"
        with connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE))
            )
        return server.url(name)

    return create


@pytest.fixture
def database_url(new_database: Callable[[], str], drop_database: Callable[[str], None]) -> Iterator[str]:
    """The URL of a migrated database of this test's own, dropped afterwards."""
    url = new_database()
    yield url
    drop_database(url)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """A connection to this test's database; not in autocommit."""
    with connect(database_url) as connection:
        yield connection


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of an installation of this test's own, with the fake embedder."""
    return Settings(home=tmp_path / "home", database_url=database_url, embedder="fake")


@pytest.fixture
def runs(world: "World", monkeypatch: pytest.MonkeyPatch) -> Iterator["Runs"]:
    """Dagster runs over an empty world."""
    # Here, because importing Dagster takes longer than most tests.
    import dagster as dg

    from tests.running import Runs, use_settings

    with use_settings(world.settings, monkeypatch), dg.DagsterInstance.ephemeral() as instance:
        yield Runs(world, instance)
