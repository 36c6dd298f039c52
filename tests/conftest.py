"""One embedded PostgreSQL for a test session, one migrated template, one copy of it for each test."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
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


def memory_folder() -> Path | None:
    """Return a folder in memory with room for the tests' databases: copying the template there takes a tenth."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free > 2_000_000_000 else None


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The embedded server of this test session; of each worker under pytest-xdist."""
    # Not under pytest's own folder: it takes the server's user's access away whenever another session starts.
    home = Path(tempfile.mkdtemp(prefix="orbit-tests-", dir=memory_folder()))
    server = EmbeddedServer(home.resolve() / "postgres")
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
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def new_database(server: EmbeddedServer) -> Callable[[], str]:
    """Make a migrated database and return its URL; for tests that need several, as property tests do."""
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
def database_url(new_database: Callable[[], str], server: EmbeddedServer) -> Iterator[str]:
    """The URL of a migrated database of this test's own, dropped afterwards."""
    url = new_database()
    yield url
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(str(name))))


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
