import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.migrating import migrate
from orbit_pipelines.database.schema import current_revision, head_revision, require_current_schema
from orbit_pipelines.errors import DatabaseUnavailable, SchemaMismatch
from orbit_pipelines.settings import PROJECT_ROOT


@pytest.fixture
def empty(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a database with nothing in it."""
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("create database empty template template0")
        yield server.url("empty")
        connection.execute("drop database empty with (force)")
        connection.execute("drop role if exists limited")


def test_an_empty_database_is_brought_to_the_newest_revision(empty: str) -> None:
    assert current_revision(empty) is None

    migrate(empty)

    assert current_revision(empty) == head_revision()
    with connect(empty) as connection:
        require_current_schema(connection)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_migrating_again_changes_nothing(empty: str) -> None:
    migrate(empty)
    with connect(empty) as connection:
        connection.execute("insert into orbitpilot.plan (plan_key, title) values ('mine', 'Mine')")

    migrate(empty)

    with connect(empty) as connection:
        assert connection.execute("select count(*) from orbitpilot.plan").fetchone() == (2,)


def test_several_processes_may_migrate_at_once(empty: str) -> None:
    program = "import sys; from orbit_pipelines.database.migrating import migrate; migrate(sys.argv[1])"
    processes = [subprocess.Popen([sys.executable, "-c", program, empty], cwd=PROJECT_ROOT) for _ in range(3)]

    assert [process.wait() for process in processes] == [0, 0, 0]
    assert current_revision(empty) == head_revision()


def test_a_database_without_tables_is_refused_naming_the_command(empty: str) -> None:
    with connect(empty) as connection, pytest.raises(SchemaMismatch, match=r"no tables yet. Run: orbit migrate"):
        require_current_schema(connection)


def test_a_newer_database_is_refused_by_builds_and_by_migrating(
    database_url: str, connection: psycopg.Connection[TupleRow]
) -> None:
    connection.execute("update public.orbit_schema_version set version_num = '9999_from_the_future'")
    connection.commit()

    with pytest.raises(SchemaMismatch, match=r"9999_from_the_future.*Upgrade this program"):
        require_current_schema(connection)
    with pytest.raises(SchemaMismatch, match=r"9999_from_the_future.*Upgrade this program"):
        migrate(database_url)


def test_who_may_not_make_the_tables_is_told_what_to_do(empty: str, server: EmbeddedServer) -> None:
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("create role limited login")

    with pytest.raises(DatabaseUnavailable, match=r"can't be changed .*as 'limited'.*owner"):
        migrate(empty.replace("postgres@", "limited@"))

    assert current_revision(empty) is None


def test_another_programs_alembic_table_stays_as_it_is(empty: str) -> None:
    with connect(empty) as connection:
        connection.execute("create table alembic_version (version_num text)")
        connection.execute("insert into alembic_version values ('theirs')")

    migrate(empty)

    with connect(empty) as connection:
        assert connection.execute("select version_num from alembic_version").fetchall() == [("theirs",)]
