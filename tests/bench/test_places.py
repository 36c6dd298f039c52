import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from orbit_pipelines.bench.places import Place, bench_database, open_place
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer, postmaster
from orbit_pipelines.database.server import database_url
from orbit_pipelines.settings import Settings


def named_like(connection: psycopg.Connection[Any], database: str) -> tuple[list[str], list[str]]:
    """Return the server's databases and roles whose names begin so."""
    databases = connection.execute(
        "select datname from pg_database where starts_with(datname, %s) order by 1", [database]
    )
    roles = connection.execute("select rolname from pg_roles where starts_with(rolname, %s) order by 1", [database])
    return [name for (name,) in databases], [name for (name,) in roles]


def test_a_database_of_the_benchmarks_is_migrated_and_goes_with_its_roles(place: Place) -> None:
    with connect(place.server_url, autocommit=True) as connection:
        with bench_database(place) as settings:
            name = str(conninfo_to_dict(str(settings.database_url))["dbname"])
            database_url(Settings(database_url=settings.dagster_database_url))  # as Dagster's first run makes it
            with connect(str(settings.database_url)) as ours:
                assert ours.execute("select count(*) from memory.chunk").fetchone() == (0,)
            databases, roles = named_like(connection, name)
            assert databases == [name, f"{name}_dagster"]
            assert roles
            assert settings.embedder == "fake"
            assert settings.home.parent == place.folder
        assert named_like(connection, name) == ([], [])


def test_an_interrupt_removes_the_database_too(place: Place) -> None:
    names = []

    def measure() -> None:
        with bench_database(place) as settings, connect(str(settings.database_url)):
            names.append(str(conninfo_to_dict(str(settings.database_url))["dbname"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure()
    with connect(place.server_url, autocommit=True) as connection:
        assert named_like(connection, *names) == ([], [])


def test_a_server_of_the_users_own_is_measured_on(settings: Settings) -> None:
    with open_place(settings) as place:
        assert place.server_url == settings.database_url
        assert place.folder.parent == settings.home
    assert list(settings.home.iterdir()) == []
    with open_place(settings, "postgresql://peers/postgres") as place:
        assert place.server_url == "postgresql://peers/postgres"


@pytest.fixture
def home() -> Iterator[Path]:
    """A home whose path is short enough for a socket, and which the server's own user reaches under root."""
    folder = Path(tempfile.mkdtemp(prefix="orbit-bench-test-")).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_otherwise_a_server_runs_for_the_benchmark_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORBIT_DATABASE_URL", raising=False)
    with open_place(Settings(home=home)) as place:
        process = postmaster(EmbeddedServer(place.folder / "postgres"))
        assert process is not None
        with connect(place.server_url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    # Where nobody reaps orphans, it stays as a zombie.
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert list(home.iterdir()) == []
