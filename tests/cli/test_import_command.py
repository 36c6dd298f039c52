import io
import json
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.database import embedded
from orbit_pipelines.database.embedded import EmbeddedServer

Orbit = Any
Connection = psycopg.Connection[TupleRow]


def stored(connection: Connection) -> tuple[int, ...]:
    """Count accounts, sessions and messages."""
    row = connection.execute(
        "select (select count(*) from orbitpilot.account), (select count(*) from orbitpilot.session),"
        " (select count(*) from orbitpilot.message)"
    ).fetchone()
    assert row is not None
    return row


def test_what_a_file_brought_is_counted(orbit: Orbit, export: Path) -> None:
    [file] = orbit.json("import", str(export), "--user", "ana", "--create-user")["files"]
    assert file["error"] is None
    assert (file["sessions_new"], file["messages_new"], file["pairs_new"]) == (2, 7, 4)
    assert file["problems"] == {"counts": {}, "shown": []}


def test_the_same_file_again_changes_nothing_and_says_so(imported: Orbit, export: Path) -> None:
    result = imported("import", str(export), "--user", "ana")
    assert result.exit_code == 0
    assert "nothing changed" in result.stdout
    assert "orbit build" not in result.stdout


def test_a_file_that_fails_leaves_the_others_alone(orbit: Orbit, export: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"mapping": {')
    other = tmp_path / "other.json"
    other.write_text(export.read_text().replace('"s1', '"t1').replace('"s2', '"t2'))
    files = orbit.json("import", str(export), str(broken), str(other), "--user", "ana", "--create-user", exit_code=1)
    assert [file["error"] is None for file in files["files"]] == [True, False, True]
    assert [file.get("sessions_new") for file in files["files"]] == [2, None, 2]


def test_broken_conversations_are_counted_and_named(orbit: Orbit, export: Path) -> None:
    export.write_text(json.dumps([*json.loads(export.read_text()), {"id": "s3", "mapping": "nothing"}]))
    result = orbit("import", str(export), "--user", "ana", "--create-user")
    assert result.exit_code == 0
    assert "problems  1 " in result.stdout
    assert "s3" in result.stdout


def cut_zip(path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", "[]" * 1000)
    path.write_bytes(packed.getvalue()[:60])


BAD_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no chat export": (lambda path: path.write_text('[{"name": "a contact", "phone": "1"}]'), "none of the formats"),
    "cut short": (lambda path: path.write_text('[{"id": "s1", "mapping": {"a": {"id"'), "cut short"),
    "a zip cut short": (cut_zip, "Download or export it again"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "a root of the wrong type": (lambda path: path.write_text('"hello"'), ""),
    "missing": (lambda path: None, "Check the path"),
    "a folder": (lambda path: path.mkdir(), "is a folder"),
}


@pytest.mark.parametrize(("make", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_named_with_what_was_seen_and_what_to_do(
    orbit: Orbit, connection: Connection, tmp_path: Path, make: Callable[[Path], Any], said: str
) -> None:
    path = tmp_path / "bad-export.json"
    make(path)
    result = orbit("import", str(path), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "bad-export.json" in result.stderr
    assert said in result.stderr
    assert "nothing of it was stored" in result.stderr
    assert "Traceback" not in result.stderr
    assert stored(connection) == (0, 0, 0)


def test_an_unknown_person_is_a_wrong_use_and_no_file_is_read(orbit: Orbit, export: Path) -> None:
    result = orbit("import", str(export), "--user", "nobody")
    assert result.exit_code == 2
    assert "--create-user" in result.stderr


def test_an_unknown_format_is_a_wrong_use_that_lists_the_known(orbit: Orbit, export: Path) -> None:
    result = orbit("import", str(export), "--user", "ana", "--format", "papyrus")
    assert result.exit_code == 2
    assert "chatgpt" in result.stderr


def test_a_process_keeps_json_apart_from_what_it_says_beside(orbit: Orbit, export: Path, tmp_path: Path) -> None:
    done = orbit.process("import", str(export), str(tmp_path / "none"), "--user", "ana", "--create-user", "--json")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["files"]) == 2
    assert "none" in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.fixture
def full_disk(connection: Connection) -> None:
    """A server that runs out of space in the middle of an import, as PostgreSQL itself reports it."""
    connection.execute(
        "create function orbitpilot.fill_disk() returns trigger language plpgsql as"
        " $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$"
    )
    connection.execute(
        "create trigger fill_disk before insert on orbitpilot.message for each row"
        " when (new.session_id = 's2') execute function orbitpilot.fill_disk()"
    )
    connection.commit()


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_said_and_leaves_nothing_of_the_file(orbit: Orbit, connection: Connection, export: Path) -> None:
    result = orbit("import", str(export), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    assert "disk of the PostgreSQL server is full" in result.stderr
    assert "Free some" in result.stderr
    assert stored(connection) == (0, 0, 0)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A real file system of 220 MB, where this machine lets us mount one."""
    # Not under pytest's own folder: it takes the server's user's access away whenever another session starts.
    folder = Path(tempfile.mkdtemp(prefix="orbit-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=220m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    home = folder / "home"
    yield home
    embedded.stop(EmbeddedServer(home.resolve() / "postgres"))
    subprocess.run(["umount", "-l", folder], check=True)
    folder.rmdir()


def test_a_real_disk_may_fill_up_and_what_was_stored_stays(
    orbit: Orbit, small_disk: Path, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORBIT_HOME", str(small_disk))
    monkeypatch.delenv("ORBIT_DATABASE_URL")
    assert orbit("import", str(export), "--user", "ana", "--create-user").exit_code == 0
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "ballast").write_bytes(b"\0" * (free - 4_000_000))
    conversations = json.loads(export.read_text())
    turn = conversations[0]["mapping"]["s1-0"]["message"]["content"]
    turn["parts"] = [os.urandom(8_000_000).hex()]
    export.write_text(json.dumps(conversations))
    result = orbit("import", str(export), "--user", "ana")
    assert result.exit_code == 1
    assert "full" in result.stderr
    assert "Traceback" not in result.stderr
    (small_disk / "ballast").unlink()
    assert len(orbit.json("pairs", "--user", "ana")) == 4
