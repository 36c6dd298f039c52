"""The command line on a database of each test's own: in this process, and as a process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from orbit_pipelines.building.run import BuildRequest, BuildRun
from orbit_pipelines.building.run import build as build_steps
from orbit_pipelines.cli.app import app
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.settings import PROJECT_ROOT, Settings, load_settings


@dataclass(frozen=True)
class Orbit:
    """Runs ``orbit`` with a test's installation in the environment."""

    environment: dict[str, str]

    def __call__(self, *arguments: str, **options: Any) -> Result:
        """Run a command in this process."""
        load_settings.cache_clear()
        return CliRunner().invoke(app, list(arguments), **options)

    def json(self, *arguments: str, exit_code: int = 0) -> Any:
        """Run a command with ``--json`` and return what it printed."""
        result = self(*arguments, "--json")
        assert result.exit_code == exit_code, result.output
        return json.loads(result.stdout)

    def process(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a process of its own."""
        return subprocess.run(
            [sys.executable, "-c", "from orbit_pipelines.cli.app import main; main()", *arguments],
            cwd=PROJECT_ROOT,
            env=os.environ | self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def orbit(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Orbit]:
    """The command line of this test's installation."""
    environment = {
        "ORBIT_HOME": str(settings.home),
        "ORBIT_DATABASE_URL": str(settings.database_url),
        "ORBIT_EMBEDDER": "fake",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield Orbit(environment)
    load_settings.cache_clear()


@pytest.fixture
def build(settings: Settings) -> Callable[[], int]:
    """Build everyone without Dagster, for tests of other commands; return the build's number."""
    numbers = count()

    def run() -> int:
        with connect(str(settings.database_url), autocommit=True) as connection:
            steps = BuildRun(connection, settings, BuildRequest(), create_embedder(settings), f"run-{next(numbers)}")
            build_steps(steps)
            return steps.build_id

    return run


def conversation(session: str, *turns: str) -> dict[str, Any]:
    """Return a conversation as ChatGPT exports it; turns of user and assistant take turns."""
    mapping: dict[str, Any] = {}
    parent = None
    for number, text in enumerate(turns):
        node = f"{session}-{number}"
        role = "user" if number % 2 == 0 else "assistant"
        mapping[node] = {
            "id": node,
            "parent": parent,
            "children": [f"{session}-{number + 1}"] if number + 1 < len(turns) else [],
            "message": {
                "id": node,
                "author": {"role": role},
                "content": {"content_type": "text", "parts": [text]},
                "create_time": 1_700_000_000 + number,
            },
        }
        parent = node
    return {"id": session, "title": session, "mapping": mapping, "current_node": parent}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A small export of two conversations."""
    path = tmp_path / "conversations.json"
    path.write_text(
        json.dumps(
            [
                conversation("s1", "I keep bees.", "How many hives?", "Three.", "A good start."),
                conversation("s2", "Je cherche un cadeau.", "Pour qui ?", "Pour ma mère."),
            ]
        )
    )
    return path


@pytest.fixture
def imported(orbit: Orbit, export: Path) -> Orbit:
    """The command line of an installation where ana has imported the export."""
    result = orbit("import", str(export), "--user", "ana", "--create-user")
    assert result.exit_code == 0, result.output
    return orbit
