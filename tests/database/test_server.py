import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr
from sqlalchemy import create_engine, make_url, text

from orbit_pipelines.database import server as database_server
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.server import (
    child_environment,
    dagster_storage_url,
    database_url,
    server_status,
    stop_server,
)
from orbit_pipelines.errors import DatabaseUnavailable
from orbit_pipelines.settings import Settings


@pytest.fixture
def own(server: EmbeddedServer, tmp_path: Path) -> Iterator[Callable[..., Settings]]:
    """Settings of somebody with a server of their own: the tests' server stands in, over URLs of their choice."""
    with connect(server.url("postgres"), autocommit=True) as connection:
        before = databases(connection)
    yield lambda url, **more: Settings(home=tmp_path / "home", database_url=url, **more)
    with connect(server.url("postgres"), autocommit=True) as connection:
        for name in databases(connection) - before:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
        connection.execute("drop role if exists limited")


def databases(connection: psycopg.Connection[Any]) -> set[str]:
    return {row[0] for row in connection.execute("select datname from pg_database").fetchall()}


def test_missing_databases_are_made_ordered_by_code_point_and_knowing_accents(
    server: EmbeddedServer, own: Callable[..., Settings]
) -> None:
    settings = own(server.url("fresh"))

    url = database_url(settings)
    dagster_storage_url(settings)

    assert url == settings.database_url
    with connect(url) as connection:
        assert connection.execute("select lower('ÉTÉ'), 'a' > 'B', getdatabaseencoding()").fetchone() == (
            "été",
            True,
            "UTF8",
        )
        assert "dagster" in databases(connection)


def test_two_processes_that_miss_the_databases_at_once_both_get_them(
    server: EmbeddedServer, own: Callable[..., Settings]
) -> None:
    settings = own(server.url("fresh"))

    with ThreadPoolExecutor(4) as pool:
        urls = list(pool.map(lambda _: dagster_storage_url(settings), range(4)))

    assert len(set(urls)) == 1


def test_dagsters_url_works_with_psycopg2_over_a_socket(server: EmbeddedServer, own: Callable[..., Settings]) -> None:
    engine = create_engine(dagster_storage_url(own(server.url("fresh"))))

    with engine.connect() as connection:
        assert connection.execute(text("select current_database()")).scalar() == "dagster"
    engine.dispose()

    assert engine.driver == "psycopg2"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("postgresql://me:p%40ss@db.example:5433/runs?sslmode=require",
         "postgresql+psycopg2://me:p%40ss@db.example:5433/runs?sslmode=require"),
        ("postgresql+psycopg2://me@db.example/runs", "postgresql+psycopg2://me@db.example/runs"),
        ("host=/run/postgresql dbname=runs user=me", "postgresql+psycopg2://me@/runs?host=/run/postgresql"),
        ("postgresql://me@one:1,two:2/runs", "postgresql+psycopg2://me@/runs?host=one,two&port=1,2"),
    ],
)  # fmt: skip
def test_any_url_becomes_one_for_psycopg2(own: Callable[..., Settings], given: str, expected: str) -> None:
    url = dagster_storage_url(own("postgresql://unused", dagster_database_url=given))

    assert make_url(url) == make_url(expected)


def test_who_may_not_make_a_database_is_told_the_command(server: EmbeddedServer, own: Callable[..., Settings]) -> None:
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("create role limited login")
        connection.execute("create database plain template template0")
    limited = server.url("plain").replace("postgres@", "limited@")

    with pytest.raises(DatabaseUnavailable, match=r"'dagster' is missing, and 'limited' may not create it") as caught:
        dagster_storage_url(own(limited))

    assert "create database \"dagster\" template template0 encoding 'UTF8'" in str(caught.value)
    assert 'owner "limited";' in str(caught.value)


def test_a_command_that_was_told_works(server: EmbeddedServer, own: Callable[..., Settings]) -> None:
    test_who_may_not_make_a_database_is_told_the_command(server, own)
    limited = own(server.url("plain").replace("postgres@", "limited@"))

    with pytest.raises(DatabaseUnavailable) as caught:
        dagster_storage_url(limited)
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(str(caught.value).partition("run: ")[2].encode())

    assert make_url(dagster_storage_url(limited)).database == "dagster"


def test_a_server_that_is_down_is_named_without_its_password(own: Callable[..., Settings]) -> None:
    settings = own("postgresql://me:hunter2@127.0.0.1:1/orbit")

    with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1, port 1") as caught:
        database_url(settings)

    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(server_status(settings))


@dataclass
class OldServer:
    """A connection to a server that no wheel brings: an old PostgreSQL, or one with another pgvector, or none."""

    server_version: int = 180000
    vector: tuple[str | None, str | None] | None = (None, "0.8.5")

    @property
    def info(self) -> "OldServer":
        return self

    def parameter_status(self, name: str) -> str:
        return f"{self.server_version // 10000}.{self.server_version % 10000}"

    def execute(self, query: str) -> "OldServer":
        return self

    def fetchone(self) -> tuple[str | None, str | None] | None:
        return self.vector


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (OldServer(server_version=140012), r"PostgreSQL 14\.12 .* is too old: 15 or newer"),
        (OldServer(vector=None), r"has no pgvector: 0\.8 or newer"),
        (OldServer(vector=(None, "0.7.4")), r"pgvector 0\.7\.4 .* is too old: 0\.8 or newer is needed\. Upgrade it"),
        (OldServer(vector=("0.6.2", "0.8.1")), r"pgvector 0\.6\.2 .*alter extension vector update"),
    ],
)
def test_a_server_that_is_too_old_is_refused_with_what_to_do(old: Any, message: str) -> None:
    with pytest.raises(DatabaseUnavailable, match=message):
        require(old)


def require(connection: Any) -> None:
    database_server._require_postgresql(connection, "postgresql://db.example/orbit")
    database_server._require_pgvector(connection, "postgresql://db.example/orbit")


@pytest.mark.parametrize("version", [(None, "0.8.0"), ("0.8.5", "0.8.5"), ("0.10.0", "0.10.0"), ("1.0", "1.0")])
def test_every_newer_pgvector_serves(version: tuple[str | None, str]) -> None:
    fake: Any = OldServer(server_version=150000, vector=version)

    require(fake)


def test_an_older_server_gets_a_locale_it_knows() -> None:
    fake: Any = OldServer(server_version=160004)

    assert "locale 'C.UTF-8'" in database_server._creation(fake, "orbit").as_string()


def test_a_child_finds_this_installation_and_this_server(server: EmbeddedServer, own: Callable[..., Settings]) -> None:
    settings = own(
        server.url("fresh"), embedder="fake", chunk_characters=900, hash_key=SecretStr("ab" * 32), cache_days=0
    )

    environment = child_environment(settings)

    assert environment["ORBIT_DATABASE_URL"] == database_url(settings)
    assert environment["ORBIT_DAGSTER_URL"] == dagster_storage_url(settings)
    assert Path(environment["DAGSTER_HOME"], "dagster.yaml").exists()
    assert environment["ORBIT_EMBEDDER"] == "fake"
    assert environment["ORBIT_CHUNK_CHARACTERS"] == "900"
    assert environment["ORBIT_CACHE_DAYS"] == "0"
    assert environment["ORBIT_HASH_KEY"] == "ab" * 32
    assert Path(environment["ORBIT_HOME"]).is_absolute()
    assert "ORBIT_EMBEDDING_API_KEY" not in environment


def test_a_childs_settings_equal_its_parents(
    server: EmbeddedServer, own: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = own(server.url("fresh"), embedder="fake", hash_key=SecretStr("ab" * 32))
    for name in [name for name in os.environ if name.startswith("ORBIT_")]:
        monkeypatch.delenv(name)

    for name, value in child_environment(settings).items():
        monkeypatch.setenv(name, value)

    assert Settings() == settings


def test_the_status_of_a_server_tells_its_versions(server: EmbeddedServer, own: Callable[..., Settings]) -> None:
    settings = own(server.url("postgres"))

    status = server_status(settings)

    assert (status.is_embedded, status.problem) == (False, None)
    assert status.version is not None
    assert status.version.startswith("18.")


def test_the_status_of_an_embedded_server_that_never_ran_starts_nothing(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", database_url=None)

    status = server_status(settings)

    assert (status.is_embedded, status.problem) == (True, "not running")
    assert not settings.home.exists()
    assert not stop_server(settings)


def test_a_folder_with_odd_characters_makes_a_good_url() -> None:
    server = EmbeddedServer(Path("/srv/a b&c?d=e%f#g/postgres"))

    given = conninfo_to_dict(server.url("or bit"))

    assert given["host"] == str(server.data)
    assert given["dbname"] == "or bit"
    assert quote("a b") in server.url("orbit")
