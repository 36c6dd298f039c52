"""What help and documentation tell people to type, typed on the sample that `orbit demo` loads."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from psycopg.rows import TupleRow

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.cli.app import app
from orbit_pipelines.cli.output import command_name
from orbit_pipelines.sample.loading import load_sample
from orbit_pipelines.settings import PROJECT_ROOT, Settings

Orbit = Any

CHEAP = ("record", "pairs", "why", "flag", "account", "plan", "assign", "switch", "sources")


@pytest.fixture
def sample(orbit: Orbit, connection: psycopg.Connection[TupleRow], settings: Settings) -> Orbit:
    """The command line of an installation with the sample in it."""
    load_sample(connection, load_hash_key(settings))
    connection.commit()
    return orbit


def helps(command: Any) -> Iterator[str]:
    """Yield the help of every command below one, in order."""
    for child in getattr(command, "commands", {}).values():
        yield from helps(child)
        yield child.help or ""


def examples(text: str, before: str) -> list[list[str]]:
    """Return the arguments of the cheap commands that a text shows; what removes comes last."""
    lines = re.findall(rf"^ *{re.escape(before)}orbit (.+)$", text, re.MULTILINE)
    chosen = [arguments for arguments in map(shlex.split, lines) if arguments[0] in CHEAP]
    return sorted(chosen, key=lambda arguments: "remove" in arguments[:2] and 1 + ("account" in arguments))


@pytest.mark.parametrize(
    "shown",
    [
        examples("\n".join(helps(typer.main.get_command(app))), "Example: "),
        examples((PROJECT_ROOT / "docs" / "commands.md").read_text("utf-8"), "$ "),
    ],
    ids=["help", "docs"],
)
def test_an_example_works_on_the_sample(sample: Orbit, shown: list[list[str]]) -> None:
    assert {arguments[0] for arguments in shown} == set(CHEAP)
    for arguments in shown:
        # One of them asks for a password, and for it again.
        result = sample(*arguments, input="a long password\na long password\n")
        assert result.exit_code == 0, (arguments, result.output)


def test_a_command_is_shown_as_it_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "project" / "bin" / "orbit"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path / "project")
    assert command_name() == "bin/orbit"
    monkeypatch.chdir(program.parent)
    assert command_name() == "./orbit"
    monkeypatch.setenv("PATH", str(program.parent))
    assert command_name() == "orbit"
    monkeypatch.setenv("PATH", "")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert command_name() == str(program)
