import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from orbit_pipelines.cli.app import app
from orbit_pipelines.settings import PROJECT_ROOT

Orbit = Any

COMMANDS_PAGE = (PROJECT_ROOT / "docs" / "commands.md").read_text("utf-8")


def commands(command: Any, path: tuple[str, ...] = ("orbit",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with the words that call it."""
    for name, child in getattr(command, "commands", {}).items():
        if getattr(child, "invoke_without_command", False):
            yield (*path, name), child
        if hasattr(child, "commands"):
            yield from commands(child, (*path, name))
        else:
            yield (*path, name), child


ALL_COMMANDS = list(commands(typer.main.get_command(app)))
NAMES = [" ".join(path) for path, _ in ALL_COMMANDS]


def test_there_are_all_the_commands_people_were_promised() -> None:
    promised = {"import", "build", "status", "pairs", "why", "flag", "account", "plan", "assign", "switch", "up"}
    assert promised <= {path[1] for path, _ in ALL_COMMANDS}


@pytest.mark.parametrize(("path", "command"), ALL_COMMANDS, ids=NAMES)
def test_every_help_shows_an_example(path: tuple[str, ...], command: Any) -> None:
    _, _, example = command.help.partition("Example: ")
    assert " ".join(path) in example, f"add a last paragraph 'Example: {' '.join(path)} …' to its docstring"


@pytest.mark.parametrize(("path", "command"), ALL_COMMANDS, ids=NAMES)
def test_every_command_is_documented_with_an_example(path: tuple[str, ...], command: Any) -> None:
    name = " ".join(path)
    _, found, rest = COMMANDS_PAGE.partition(f"\n### {name}\n")
    assert found, f"add a section '### {name}' to docs/commands.md"
    section = rest.partition("\n### ")[0]
    assert "```console\n$ " in section
    assert name in section.partition("```console\n")[2].partition("```")[0]
    assert "\nPrints " in section, "say what it prints"


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = {line.removeprefix("### ") for line in COMMANDS_PAGE.splitlines() if line.startswith("### ")}
    assert documented == set(NAMES)


@pytest.mark.parametrize(("path", "command"), ALL_COMMANDS, ids=NAMES)
def test_every_help_can_be_shown(orbit: Orbit, path: tuple[str, ...], command: Any) -> None:
    result = orbit(*path[1:], "--help")
    assert result.exit_code == 0
    assert "Example: " in result.stdout


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from orbit_pipelines.cli.app import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n"
        "    print(sorted({'dagster', 'polars', 'alembic', 'sqlalchemy', 'psycopg', 'numpy'} & set(sys.modules)))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, "--help"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines()[-1] == "[]"


def test_a_wrong_use_ends_with_exit_code_two(orbit: Orbit) -> None:
    assert orbit("nonsense").exit_code == 2
    assert orbit("pairs").exit_code == 2
    assert orbit("switch", "blink.blinks").exit_code == 2


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault nobody foresaw, whose text quotes a message."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret message")

    monkeypatch.setattr("orbit_pipelines.cli.opening.open_database", fail)


@pytest.mark.usefixtures("broken")
def test_a_fault_of_the_program_is_one_line_without_a_trace_or_any_text(orbit: Orbit) -> None:
    result = orbit("account", "list")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "ZeroDivisionError" in result.stderr
    assert "ORBIT_DEBUG=1" in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.usefixtures("broken")
def test_its_trace_can_be_asked_for(orbit: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(orbit("--debug", "account", "list").exception, ZeroDivisionError)
    monkeypatch.setenv("ORBIT_DEBUG", "1")
    assert isinstance(orbit("account", "list").exception, ZeroDivisionError)


def test_an_interrupt_ends_with_exit_code_130(orbit: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("orbit_pipelines.cli.opening.open_database", interrupt)
    result = orbit("account", "list")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_a_reader_that_goes_away_is_no_error(orbit: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object, **__: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("orbit_pipelines.cli.app.be_quiet", lambda: None)
    monkeypatch.setattr("orbit_pipelines.cli.opening.open_database", leave)
    assert orbit("account", "list").output == ""


def test_a_setting_that_is_none_is_named_without_its_value(orbit: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBIT_EMBEDDER", "astrology")
    result = orbit("account", "list")
    assert result.exit_code == 2
    assert "ORBIT_EMBEDDER" in result.stderr
    assert "astrology" not in result.stderr
