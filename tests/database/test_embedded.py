import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from orbit_pipelines.database import embedded
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.errors import DatabaseUnavailable, OutOfSpace
from orbit_pipelines.settings import PROJECT_ROOT

START = """
import sys
from pathlib import Path
from orbit_pipelines.database.embedded import EmbeddedServer, start
start(EmbeddedServer(Path(sys.argv[1])))
"""


@pytest.fixture
def fresh() -> Iterator[EmbeddedServer]:
    """A server of this test's own, not started yet."""
    home = Path(tempfile.mkdtemp(prefix="orbit-embedded-"))
    server = EmbeddedServer(home / "postgres")
    yield server
    embedded.stop(server)
    shutil.rmtree(home, ignore_errors=True)


def test_a_killed_server_starts_again_with_everything_it_had_committed(fresh: EmbeddedServer) -> None:
    embedded.start(fresh)
    with connect(fresh.url("postgres")) as connection:
        connection.execute("create table kept as select generate_series(1, 1000) as number")
    first = embedded.postmaster(fresh)
    assert first is not None

    first.kill()
    embedded.start(fresh)

    second = embedded.postmaster(fresh)
    assert second is not None
    assert second.pid != first.pid
    with connect(fresh.url("postgres")) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (1000,)


def test_two_processes_that_start_a_fresh_server_at_once_share_one(fresh: EmbeddedServer) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    starters = [
        subprocess.Popen([sys.executable, "-c", START, fresh.data], cwd=PROJECT_ROOT, env=environment) for _ in range(2)
    ]

    assert [starter.wait() for starter in starters] == [0, 0]
    assert embedded.answers(fresh)


def test_the_environment_of_other_servers_changes_nothing(
    fresh: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "6543", "PGHOST": "elsewhere", "PGUSER": "x", "PGDATABASE": "y"}.items():
        monkeypatch.setenv(name, value)

    embedded.start(fresh)

    with connect(fresh.url("postgres")) as connection:
        assert connection.execute("show port").fetchone() == ("5432",)


def test_the_servers_log_shows_neither_statements_nor_row_values(server: EmbeddedServer) -> None:
    with connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("create temporary table note (content text check (length(content) < 5))")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("insert into note values ('a secret of mine')")

    log = server.log.read_text()
    assert "note_content_check" in log
    assert "secret" not in log


def test_only_its_owner_reaches_the_socket(server: EmbeddedServer) -> None:
    assert server.socket.stat().st_mode & 0o077 == 0
    assert server.data.stat().st_mode & 0o077 == 0


def test_a_running_server_is_found_and_not_started_again(server: EmbeddedServer) -> None:
    before = embedded.postmaster(server)

    embedded.start(server)

    assert embedded.postmaster(server) == before


def test_a_folder_too_deep_for_a_socket_is_refused_with_what_to_do(tmp_path: Path) -> None:
    deep = EmbeddedServer(tmp_path / ("d" * 60) / ("e" * 60) / "postgres")

    with pytest.raises(DatabaseUnavailable, match=r"too deep for PostgreSQL's socket.*ORBIT_HOME to a shorter path"):
        embedded.start(deep)

    assert not deep.data.parent.exists()


def test_a_full_disk_is_told_before_anything_starts(fresh: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "SPACE_TO_START", 10**18)

    with pytest.raises(OutOfSpace, match=r"MB are free on the disk of .*ORBIT_HOME to another disk"):
        embedded.start(fresh)

    assert not fresh.data.exists()


def test_a_file_where_the_folder_should_be_is_refused_with_what_to_do(fresh: EmbeddedServer) -> None:
    blocked = EmbeddedServer(fresh.data / "postgres")
    fresh.data.write_text("in the way")

    with pytest.raises(DatabaseUnavailable, match=r"can't be used: .*ORBIT_HOME to a folder of yours"):
        embedded.start(blocked)


def test_a_folder_of_another_version_is_named_with_the_reason(fresh: EmbeddedServer) -> None:
    fresh.data.mkdir()
    (fresh.data / "PG_VERSION").write_text("17\n")

    with pytest.raises(DatabaseUnavailable, match=r"doesn't start: .*expecting version 18 but found version 17"):
        embedded.start(fresh)


def test_a_broken_cluster_is_named_with_the_servers_own_reason(fresh: EmbeddedServer) -> None:
    embedded.start(fresh)
    embedded.stop(fresh)
    shutil.rmtree(fresh.data / "pg_wal")

    with pytest.raises(DatabaseUnavailable, match=r"doesn't start: pg_ctl failed .*FATAL: .*Look into its log"):
        embedded.start(fresh)


def test_a_process_id_that_is_somebody_elses_is_no_server(fresh: EmbeddedServer) -> None:
    fresh.data.mkdir()
    (fresh.data / "postmaster.pid").write_text(f"{os.getpid()}\n{fresh.data}\n")

    assert embedded.postmaster(fresh) is None
    assert not embedded.stop(fresh)
