import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.settings import PROJECT_ROOT, Settings

Orbit = Any

KEYS = ["step", "pairs", "seconds", "floor_seconds", "ratio", "added", "removed", "embedded", "wal_bytes", "peak_mib"]


def traces(server: EmbeddedServer) -> list[tuple[Any, ...]]:
    """Return the names of databases and roles that only a benchmark makes."""
    with connect(server.url("postgres"), autocommit=True) as connection:
        return connection.execute(
            "select datname from pg_database where datname like 'orbit\\_bench%'"
            " union all select rolname from pg_roles where rolname like 'orbit\\_bench%'"
        ).fetchall()


def tables_of(url: str | None) -> list[tuple[Any, ...]]:
    """Return how many rows the configured database's tables hold, and what was ever written to them."""
    with connect(str(url), autocommit=True) as connection:
        return connection.execute(
            "select relname, n_tup_ins + n_tup_upd + n_tup_del from pg_stat_user_tables order by 1"
        ).fetchall()


def test_json_holds_every_step_and_nothing_of_it_stays(
    orbit: Orbit, settings: Settings, server: EmbeddedServer
) -> None:
    before = tables_of(settings.database_url)
    printed = orbit.json("bench", "--pairs", "200")
    assert list(printed) == ["steps"]
    assert [step["step"] for step in printed["steps"]] == ["W1", "W2", "W3", "W4", "W5", "W6"]
    for step in printed["steps"]:
        assert list(step)[: len(KEYS)] == KEYS
        assert step["pairs"] == 200
        assert step["floor_seconds"] > 0
        assert (step["ratio"] is None) == (step["step"] == "W2")
    assert traces(server) == []
    assert list(settings.home.iterdir()) == []
    assert tables_of(settings.database_url) == before


def test_steps_can_be_chosen_and_the_page_gets_figures_and_plot(orbit: Orbit, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    result = orbit("bench", "--pairs", "200", "--step", "W2", "--page", str(page))
    assert result.exit_code == 0, result.output
    for output in (result.stdout, page.read_text()):
        for said in ("200 pairs", "W1 full build", "W2 nothing changed", "one build row", "not measured"):
            assert said in output
        assert "W3 1 % of pairs edited" in output
    assert page.with_suffix(".png").exists()


def test_the_import_of_an_export_is_measured(orbit: Orbit, tmp_path: Path, server: EmbeddedServer) -> None:
    page = tmp_path / "performance.md"
    printed = orbit.json("bench", "import", "--messages", "80", "--page", str(page))
    assert printed["messages"] == 80
    assert printed["messages_per_second"] > 0
    assert "| messages a second |" in page.read_text()
    assert traces(server) == []


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (("--pairs", "10"), 2, "200"),
        (("--step", "W9"), 2, "Known: W1, W2"),
        (("--peer", "cocoindex"), 2, "--peers"),
        (("--peers", "nowhere"), 1, "no run.py"),
        (("--page", "nowhere/page.md"), 1, "no folder"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is(
    orbit: Orbit, settings: Settings, arguments: tuple[str, ...], exit_code: int, said: str
) -> None:
    result = orbit("bench", *arguments)
    assert result.exit_code == exit_code
    assert said in result.output
    assert not settings.home.exists()


def test_an_interrupt_removes_everything(orbit: Orbit, settings: Settings, server: EmbeddedServer) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from orbit_pipelines.cli.app import main; main()", "bench", "--pairs", "200"],
        cwd=PROJECT_ROOT,
        env=os.environ | orbit.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process, connect(server.url("postgres"), autocommit=True) as connection:
        while not is_building(connection):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, complaint = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in output + complaint
    assert traces(server) == []
    assert list(settings.home.iterdir()) == []


def is_building(connection: psycopg.Connection[Any]) -> bool:
    """Whether the benchmark has begun a build: then two processes of its own are connected to its database."""
    row = connection.execute(
        "select count(*) from pg_stat_activity where datname like 'orbit\\_bench%' and pid <> pg_backend_pid()"
    ).fetchone()
    return row is not None and row[0] > 1
