import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
import typer
from psycopg.rows import TupleRow

from orbit_pipelines.cli.builds import build_report, end_with
from orbit_pipelines.launching import BuildSummary, CheckOutcome, LaunchResult

Orbit = Any
Connection = psycopg.Connection[TupleRow]

PROMISED = {
    "build_id",
    "mode",
    "added",
    "removed",
    "unchanged",
    "skipped",
    "embedded",
    "from_cache",
    "checks",
}


@pytest.fixture
def built(imported: Orbit, build: Callable[[], int]) -> Orbit:
    """The command line of an installation that is built and up to date."""
    build()
    return imported


def test_the_first_build_adds_everything(imported: Orbit) -> None:
    answer = imported.json("build")
    assert set(answer) >= PROMISED
    assert (answer["mode"], answer["status"]) == ("incremental", "published")
    assert (answer["added"], answer["unchanged"], answer["embedded"]) == (4, 0, 4)
    assert all(set(check) >= {"name", "passed", "severity"} for check in answer["checks"])


def test_a_build_with_nothing_to_do_says_so(built: Orbit) -> None:
    answer = built.json("build")
    assert answer["status"] == "unchanged"
    assert (answer["added"], answer["removed"], answer["embedded"], answer["unchanged"]) == (0, 0, 0, 4)
    assert answer["checks"] == []
    assert "Nothing changed" in built("build").stdout


def test_a_full_build_finds_everything_known(built: Orbit) -> None:
    answer = built.json("build", "--full")
    assert (answer["mode"], answer["embedded"]) == ("full", 0)
    assert (answer["added"], answer["removed"], answer["unchanged"]) == (0, 0, 4)
    assert built.json("build", "--re-embed")["embedded"] == 4


def test_a_build_of_some_people_counts_only_them(built: Orbit, export: Any) -> None:
    assert built("import", str(export), "--user", "ben", "--create-user").exit_code == 0
    [pair, *_] = built.json("pairs", "--user", "ben")
    built("flag", pair["session_id"], pair["message_id"], "--user", "ben", "--not-remembered")
    answer = built.json("build", "--user", "ben")
    assert (answer["added"], answer["unchanged"], answer["skipped"]) == (3, 0, 1)


def test_a_build_of_somebody_unknown_is_a_wrong_use(built: Orbit) -> None:
    result = built("build", "--user", "nobody")
    assert result.exit_code == 2
    assert "nobody" in result.stderr


def test_a_deleted_account_can_still_be_built_away(built: Orbit) -> None:
    assert built("account", "remove", "ana", "--yes").exit_code == 0
    assert built.json("build", "--user", "ana")["removed"] == 4


def test_a_process_prints_json_and_nothing_else(imported: Orbit) -> None:
    done = imported.process("build", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 4
    assert done.stderr == ""


@pytest.fixture
def wrong_endpoint() -> Iterator[str]:
    """An embedding endpoint whose vectors have three numbers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            data = [{"index": number, "embedding": [1.0, 0.0, 0.0]} for number in range(len(asked))]
            body = json.dumps({"data": data, "model": "m", "object": "list"}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_an_embedder_with_the_wrong_dimensions_fails_the_build(imported: Orbit, wrong_endpoint: str) -> None:
    environment = {"ORBIT_EMBEDDER": "openai", "ORBIT_EMBEDDING_BASE_URL": wrong_endpoint}
    done = imported.process("build", "--json", ORBIT_EMBEDDING_DIMENSIONS="8", **environment)
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "failed"
    assert "8" in done.stderr
    assert "Traceback" not in done.stderr
    assert {pair["state"] for pair in imported.json("pairs", "--user", "ana")} == {"pending"}
    status = imported.json("status")
    assert [build["status"] for build in status["memory"]["troubles"]] == ["failed"]
    assert status["memory"]["is_behind"]


def test_status_tells_how_memory_stands(built: Orbit) -> None:
    status = built.json("status")
    assert status["server"]["problem"] is None
    assert status["schema"]["found"] == status["schema"]["needed"]
    memory = status["memory"]
    assert (memory["accounts"], memory["pairs"], memory["chunks"]) == (1, 4, 4)
    assert memory["last_build"]["status"] == "published"
    assert not memory["is_behind"]
    assert memory["troubles"] == memory["running"] == memory["workspaces"] == []
    built("flag", "s1", "s1-0", "--user", "ana", "--not-remembered")
    assert built.json("status")["memory"]["is_behind"]
    assert "Run: orbit build" in built("status").stdout


def test_status_names_a_dead_build_and_what_it_left(
    built: Orbit, build: Callable[[], int], connection: Connection, settings: Any
) -> None:
    left = settings.workspaces / "run-of-a-dead-build"
    left.mkdir(parents=True, exist_ok=True)
    connection.execute(
        "insert into memory.build (mode, scope, executor, workspace)"
        " values ('full', '{\"bucket\": 0}', 'in_process', %s)",
        [str(left)],
    )
    connection.commit()
    shown = built("status").stdout
    assert "dead" in shown
    assert str(left) in shown
    build()
    assert built.json("status")["memory"]["troubles"] == []
    assert not left.exists()


def test_status_of_a_server_that_is_down_fails_and_starts_nothing(
    orbit: Orbit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORBIT_DATABASE_URL", "postgresql://me@127.0.0.1:1/orbit")
    result = orbit("status")
    assert result.exit_code == 1
    assert "port 1" in result.stdout
    monkeypatch.delenv("ORBIT_DATABASE_URL")
    result = orbit("status")
    assert result.exit_code == 0
    assert "not running" in result.stdout


@pytest.mark.parametrize("home", ["/dev/null/home", f"/tmp/{'deep/' * 40}"], ids=["in no folder", "too deep"])
def test_status_says_that_a_home_cannot_be(orbit: Orbit, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.delenv("ORBIT_DATABASE_URL")
    monkeypatch.setenv("ORBIT_HOME", home)
    for command in (["status"], ["status", "--json"], ["build"]):
        result = orbit(*command)
        assert result.exit_code == 1
        assert "ORBIT_HOME" in result.output
        assert home.rstrip("/") in result.output
        assert "starts it" not in result.output


def test_a_server_that_is_down_is_named_with_what_to_do(orbit: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBIT_DATABASE_URL", "postgresql://me@127.0.0.1:1/orbit")
    for command in (["build"], ["pairs", "--user", "ana"], ["demo"]):
        result = orbit(*command)
        assert result.exit_code == 1
        assert "port 1" in result.stderr
        assert "ORBIT_DATABASE_URL" in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:hunter2@host/orbit",
        "hunter2",
        "postgresql://me:hunter2@[bad",
        "postgresql://me:hunter2@host:abc/orbit",
        "postgresql://me:hunter2/x@host/orbit",
    ],
)
@pytest.mark.parametrize("variable", ["ORBIT_DATABASE_URL", "ORBIT_DAGSTER_DATABASE_URL"])
def test_a_url_that_cannot_be_read_is_never_shown(
    orbit: Orbit, monkeypatch: pytest.MonkeyPatch, variable: str, url: str
) -> None:
    monkeypatch.setenv(variable, url)
    commands = [["db-url", "--json"]]
    if variable == "ORBIT_DATABASE_URL":
        commands += [["build"], ["status"], ["status", "--json"], ["migrate"], ["pairs", "--user", "ana"], ["demo"]]
    for command in commands:
        result = orbit(*command)
        assert result.exit_code == 1
        assert "can't be read" in result.output
        assert "hunter2" not in result.output
        assert "lost" not in result.output


def test_a_schema_of_another_revision_is_refused_with_the_command_to_run(
    imported: Orbit, connection: Connection
) -> None:
    connection.execute("drop schema orbitpilot, memory cascade")
    connection.execute("drop table orbit_schema_version")
    connection.commit()
    result = imported("build")
    assert result.exit_code == 1
    assert "orbit migrate" in result.stderr
    assert imported("migrate").exit_code == 0
    assert imported("account", "list").exit_code == 0
    connection.execute("update orbit_schema_version set version_num = '9999_from_the_future'")
    connection.commit()
    result = imported("build")
    assert result.exit_code == 1
    assert "9999_from_the_future" in result.stderr
    assert imported("status").exit_code == 0


def outcome(*, passed: bool, severity: str) -> LaunchResult:
    """A published build with one check."""
    build = BuildSummary(7, "incremental", "published", None, 1, 1, 0, 0, 0, 0, 1, 0)
    check = CheckOutcome("embeddings_are_sound", "diff_apply", passed, severity, "3 of 4 rows are sound", {})
    return LaunchResult("run", True, None, build, (check,))


def test_a_failed_check_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        end_with(outcome(passed=False, severity="ERROR"))
    assert ended.value.exit_code == 1
    assert "embeddings_are_sound" in capsys.readouterr().err


@pytest.mark.parametrize(("passed", "severity"), [(True, "ERROR"), (False, "WARN")])
def test_a_warning_does_not(passed: bool, severity: str) -> None:
    end_with(outcome(passed=passed, severity=severity))
    assert build_report(outcome(passed=passed, severity=severity), {"unchanged": 0, "skipped": 0})


def test_an_interrupted_build_ends_with_exit_code_130() -> None:
    failed = LaunchResult("run", False, "dagster._core.errors.DagsterExecutionInterruptedError", None, ())
    with pytest.raises(typer.Exit) as ended:
        end_with(failed)
    assert ended.value.exit_code == 130
