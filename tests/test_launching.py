import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import psycopg
import pytest
from dagster import DagsterRunStatus
from psycopg import sql

from orbit_pipelines.building.run import BuildRequest
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.server import child_environment
from orbit_pipelines.jobs import AUDIT, FULL_REBUILD, QUICK_UPDATE
from orbit_pipelines.launching import launch
from orbit_pipelines.model import Mode, Store
from orbit_pipelines.settings import PROJECT_ROOT, Settings
from tests.running import FailingEmbedder, use_settings
from tests.worlds import World

ANN = Store("ann")


@pytest.fixture
def installation(world: World, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A populated world with a persistent Dagster instance of its own."""
    given = {name: getattr(world.settings, name) for name in world.settings.model_fields_set}
    world.settings = Settings(**given, dagster_database_url=new_database())
    world.account("ann")
    world.say(ANN, "s1", "What rhymes with orange?", "> Nothing does.", "And with month?", "> Nothing either.")
    with use_settings(world.settings, monkeypatch):
        yield world


@pytest.fixture
def instance(installation: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """The installation's Dagster instance, as the UI sees it."""
    with monkeypatch.context() as environment:
        for name, value in child_environment(installation.settings).items():
            environment.setenv(name, value)
        with dg.DagsterInstance.get() as instance:
            yield instance


def test_a_launched_build_says_what_it_did(installation: World, instance: dg.DagsterInstance) -> None:
    steps: dict[str, int] = {}

    result = launch(
        installation.settings,
        QUICK_UPDATE,
        on_progress=lambda step, count: steps.update({step: steps.get(step, 0) + count}),
    )

    assert result.success
    assert result.failure is None
    assert result.build is not None
    assert (result.build.mode, result.build.status, result.build.added) == ("incremental", "published", 2)
    assert (result.build.embedded, result.build.from_cache) == (2, 0)
    assert steps == {"extraction": 4, "pairing": 2, "chunking": 2, "embedding": 2}
    run = instance.get_run_by_id(result.dagster_run_id)
    assert run is not None
    assert run.status is DagsterRunStatus.SUCCESS
    assert run.job_name == QUICK_UPDATE


def test_a_launched_build_that_finds_nothing_says_so(installation: World) -> None:
    launch(installation.settings, QUICK_UPDATE)

    result = launch(installation.settings, QUICK_UPDATE)

    assert result.success
    assert result.is_unchanged
    assert result.checks == ()


def test_a_full_rebuild_is_full_and_a_request_is_followed(installation: World) -> None:
    full = launch(installation.settings, FULL_REBUILD)
    asked = launch(installation.settings, QUICK_UPDATE, BuildRequest(Mode.FULL, users=("ann",)))

    assert full.build is not None
    assert full.build.mode == "full"
    assert asked.build is not None
    assert asked.build.mode == "full"
    assert installation.sql("select scope from memory.build order by build_id")[-1] == ({"users": ["ann"]},)


def test_an_audit_builds_nothing(installation: World) -> None:
    launch(installation.settings, QUICK_UPDATE)

    result = launch(installation.settings, AUDIT)

    assert result.success
    assert result.build is None


def test_a_failed_build_says_why_in_the_errors_own_words(installation: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.embedder.create_embedder", lambda _settings: FailingEmbedder())

    result = launch(installation.settings, QUICK_UPDATE)

    assert not result.success
    assert result.failure == "The endpoint answers no more. Start it again."
    assert result.build is not None
    assert result.build.status == "failed"


def test_a_launch_keeps_the_terminal_clean(
    installation: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    launch(installation.settings, QUICK_UPDATE)
    assert launch(installation.settings, QUICK_UPDATE).is_unchanged
    monkeypatch.setattr("resources.embedder.create_embedder", lambda _settings: FailingEmbedder())
    installation.say(ANN, "s1", "And with silver?")
    launch(installation.settings, QUICK_UPDATE)

    assert capfd.readouterr() == ("", "")


def test_a_launch_leaves_the_environment_as_it_was(installation: World) -> None:
    before = dict(os.environ)

    launch(installation.settings, QUICK_UPDATE)

    assert dict(os.environ) == before


def test_a_build_killed_outright_blocks_no_later_one(installation: World, instance: dg.DagsterInstance) -> None:
    process = start_stuck_build()
    [(killed,)] = installation.sql("select dagster_run_id from memory.build where status = 'running'")
    process.kill()
    process.communicate()

    result = launch(installation.settings, QUICK_UPDATE)

    assert result.success
    assert result.build is not None
    assert result.build.added == 2
    assert installation.sql("select status from memory.build order by build_id") == [("died",), ("published",)]
    run = instance.get_run_by_id(killed)
    assert run is not None
    assert run.status is DagsterRunStatus.FAILURE
    assert list(installation.settings.workspaces.iterdir()) == []


def test_a_build_that_is_interrupted_cleans_up(installation: World, instance: dg.DagsterInstance) -> None:
    process = start_stuck_build()
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert process.returncode != 0
    [(run_id, status, note)] = installation.sql("select dagster_run_id, status, note from memory.build")
    assert (status, note) == ("failed", "interrupted: see the Dagster run")
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.is_finished
    assert list(installation.settings.workspaces.iterdir()) == []


def test_no_text_reaches_dagster_or_the_home_folder(
    installation: World, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.say(ANN, "s2", "Do you know zanzibarquilt?", "> Zanzibarquilt is a word nobody uses.")
    installation.record(ANN, "files.documents", "d1", "About zanzibarquilt.")
    excluded = installation.say(ANN, "s2", "Forget zanzibarquilt", "> Zanzibarquilt is forgotten.")[0]
    installation.remember(ANN, "s2", excluded, remembered=False)
    launch(installation.settings, FULL_REBUILD)
    installation.say(ANN, "s2", "Again zanzibarquilt")
    with monkeypatch.context() as patch:
        patch.setattr("resources.embedder.create_embedder", lambda _settings: FailingEmbedder())
        failed = launch(installation.settings, QUICK_UPDATE)
    installation.sql("alter table memory.chunk add constraint refuse check (content !~ 'Again')")
    refused = launch(installation.settings, QUICK_UPDATE)
    launch(installation.settings, AUDIT)

    assert not failed.success
    assert not refused.success
    assert len(installation.contents()) == 4
    assert rows_holding(installation.settings.dagster_database_url, "zanzibarquilt") == []
    assert files_holding(installation.settings.home, "zanzibarquilt") == []


def start_stuck_build() -> subprocess.Popen[str]:
    """Start a build in a process of its own, and return once it is stuck in the middle."""
    command = [sys.executable, "-m", "tests.stuck_build"]
    process = subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "embedding\n"
    return process


def rows_holding(url: str | None, word: str) -> list[str]:
    """Return the tables of a database that hold a word, as text or in bytes."""
    assert url is not None
    with connect(url) as connection:
        names = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        assert ("event_logs",) in names
        return [name for (name,) in names if _holds(connection, name, word)]


def _holds(connection: psycopg.Connection[tuple[object, ...]], table: str, word: str) -> bool:
    query = sql.SQL("select count(*) from {} as it where it::text ilike any(%s)").format(sql.Identifier(table))
    spellings = [word, word.capitalize(), word.encode().hex(), word.capitalize().encode().hex()]
    row = connection.execute(query, [[f"%{spelling}%" for spelling in spellings]]).fetchone()
    return row != (0,)


def files_holding(folder: Path, word: str) -> list[Path]:
    """Return the files below a folder that hold a word."""
    wanted = word.encode()
    return [path for path in folder.rglob("*") if path.is_file() and wanted in path.read_bytes().lower()]
