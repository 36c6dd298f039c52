import json
import socket
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url
from typer.testing import CliRunner

from orbit_pipelines.cli.services import app
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.database.schema import head_revision
from orbit_pipelines.errors import ServiceFailed
from orbit_pipelines.services.one_at_a_time import only_one
from orbit_pipelines.settings import Settings, load_settings

runner = CliRunner()


@pytest.fixture
def environment(settings: Settings, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """The settings of this test's installation, as a person's environment would hold them."""
    assert settings.database_url is not None
    monkeypatch.setenv("ORBIT_HOME", str(settings.home))
    monkeypatch.setenv("ORBIT_DATABASE_URL", settings.database_url)
    load_settings.cache_clear()
    yield settings
    load_settings.cache_clear()
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("drop database if exists dagster with (force)")


@pytest.mark.parametrize("command", ["up", "down", "migrate", "roles", "db-url"])
def test_the_help_of_each_command_shows_an_example(command: str) -> None:
    result = runner.invoke(app, [command, "--help"])

    assert result.exit_code == 0
    assert "Example: " in result.output


def test_db_url_prints_the_url_and_nothing_else(environment: Settings) -> None:
    result = runner.invoke(app, ["db-url"])

    assert (result.exit_code, result.output) == (0, f"{environment.database_url}\n")


def test_db_url_as_json_tells_both_databases(environment: Settings) -> None:
    result = runner.invoke(app, ["db-url", "--json"])

    urls = json.loads(result.output)
    assert urls["orbit"] == environment.database_url
    assert make_url(urls["dagster"]).drivername == "postgresql+psycopg2"
    assert make_url(urls["dagster"]).database == "dagster"


def test_migrate_says_when_there_was_nothing_to_do(environment: Settings) -> None:
    result = runner.invoke(app, ["migrate"])

    assert result.exit_code == 0
    assert "up to date" in result.output


def test_migrate_says_from_where_to_where(environment: Settings) -> None:
    assert environment.database_url is not None
    with connect(environment.database_url) as connection:
        connection.execute("drop schema orbitpilot, memory cascade")
        connection.execute("drop table public.orbit_schema_version")

    result = runner.invoke(app, ["migrate"])

    assert result.exit_code == 0
    assert f"empty → {head_revision()}" in result.output


def test_migrate_tells_what_an_administrator_must_run(
    environment: Settings, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.database_url is not None
    owner = environment.database_url.replace("postgres@", "plain_owner@")
    with connect(environment.database_url) as connection:
        connection.execute("create role plain_owner login")
        for (command,) in connection.execute(
            "select format('alter table %s owner to plain_owner', oid::regclass) from pg_class"
            " where relnamespace in ('orbitpilot'::regnamespace, 'memory'::regnamespace) and relkind in ('r', 'p')"
            " union all select 'grant usage, create on schema orbitpilot, memory to plain_owner'"
            " union all select 'grant select, update on public.orbit_schema_version to plain_owner'"
        ).fetchall():
            connection.execute(command)
    monkeypatch.setenv("ORBIT_DATABASE_URL", owner)
    load_settings.cache_clear()

    migrated = runner.invoke(app, ["migrate"])
    printed = runner.invoke(app, ["roles", "--sql"])

    assert (migrated.exit_code, printed.exit_code) == (0, 0)
    assert "up to date" in migrated.stdout
    assert "administrator" in migrated.stderr
    assert printed.stdout.count("create role") == 3
    assert printed.stdout in migrated.stderr


def test_roles_shows_them_before_and_after_migrating(environment: Settings) -> None:
    before = runner.invoke(app, ["roles"])
    assert "Make them with: orbit migrate" in before.output

    assert runner.invoke(app, ["migrate"]).exit_code == 0

    roles = json.loads(runner.invoke(app, ["roles", "--json"]).stdout)
    assert [(role["kind"], role["exists"]) for role in roles] == [
        ("pipeline", True),
        ("app", True),
        ("analyst", True),
    ]
    assert "orbit migrate" not in runner.invoke(app, ["roles"]).output
    assert runner.invoke(app, ["roles", "--sql"]).output == ""


def test_down_says_when_nothing_runs(environment: Settings) -> None:
    result = runner.invoke(app, ["down"])

    assert (result.exit_code, result.output) == (0, "Nothing runs.\n")


def test_a_port_out_of_range_is_bad_use() -> None:
    assert runner.invoke(app, ["up", "--port", "70000"]).exit_code == 2


def test_what_cannot_start_does_not_say_that_it_starts(environment: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = runner.invoke(app, ["up", "--port", str(taken.getsockname()[1])])
    assert isinstance(result.exception, ServiceFailed)
    assert result.output == ""

    with only_one(environment.home / "up.pid"):
        result = runner.invoke(app, ["up"])
    assert isinstance(result.exception, ServiceFailed)
    assert result.output == ""
