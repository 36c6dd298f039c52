"""`orbit import` of folders and pipes, rehearsed, strict, and told who is who."""

import json
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

from orbit_pipelines.building.states import pair_states
from orbit_pipelines.model import Store

Orbit = Any
Connection = psycopg.Connection[TupleRow]

CHAT = {"messages": [{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "Please."}]}


def everything(connection: Connection) -> list[Any]:
    """Every row of the history with the place and transaction it was written in."""
    tables = ("orbitpilot.account", "orbitpilot.session", "orbitpilot.message", "memory.pair")
    rows = [connection.execute(f"select ctid, xmin, * from {table}".encode()).fetchall() for table in tables]
    connection.rollback()
    return rows


@pytest.fixture
def folder(tmp_path: Path, export: Path) -> Path:
    """A folder of two exports in two formats, one file that holds no conversations, and one that isn't looked into."""
    path = tmp_path / "folder"
    (path / "deep").mkdir(parents=True)
    export.rename(path / "conversations.json")
    (path / "deep" / "chats.jsonl").write_text(json.dumps(CHAT) + "\n{broken\n")
    (path / "deep" / "contacts.json").write_text('[{"phone": 1}]')
    (path / "deep" / "notes.md").write_text("# notes")
    return path


def test_a_folder_names_what_is_no_export_and_counts_what_is_no_data(orbit: Orbit, folder: Path) -> None:
    (folder / "log.txt").write_text(json.dumps(CHAT).replace("Tea?", "Jam?"))
    (folder / "user.json").write_text('{"id": 1}')
    with zipfile.ZipFile(folder / "photos.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHAT).replace("Tea?", "Cake?"))
        archive.writestr("one.png", b"\x89PNG")
    result = orbit("import", str(folder), "--user", "ana", "--create-user", "--strict")
    assert result.exit_code == 1
    assert "sessions  5 new" in result.stdout
    assert "problems  1 broken_line, 1 unknown_file" in result.stdout
    assert "files     2 others passed over" in result.stdout
    answer = orbit.json("import", str(folder), "--user", "ana")
    assert sum(file["passed_over"] for file in answer["files"]) == 2


def test_a_folder_is_the_files_in_it(orbit: Orbit, folder: Path) -> None:
    answer = orbit.json("import", str(folder), "--user", "ana", "--create-user")
    assert [(Path(file["file"]).name, file.get("sessions_new"), file["is_skipped"]) for file in answer["files"]] == [
        ("conversations.json", 2, False),
        ("chats.jsonl", 1, False),
        ("contacts.json", None, True),
    ]


def test_a_folder_is_summed_up(orbit: Orbit, folder: Path) -> None:
    result = orbit("import", str(folder), "--user", "ana", "--create-user")
    assert result.exit_code == 0
    assert "sessions  3 new, 0 grown, 0 edited, 0 unchanged" in result.stdout
    assert "deep/chats.jsonl: line 2" in result.stdout
    assert "deep/contacts.json: skipped" in result.stdout
    assert result.stderr == ""


def test_a_file_that_fails_leaves_the_rest_of_its_folder_alone(orbit: Orbit, folder: Path) -> None:
    (folder / "cut.zip").write_bytes(b"PK\x03\x04 and nothing else")
    result = orbit("import", str(folder), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    assert "sessions  3 new" in result.stdout
    assert "cut.zip begins like a zip" in result.stderr
    said = f"{folder}: nothing of this file was stored; what the others of its 4 files hold is stored."
    assert result.stderr.splitlines()[-1] == said
    rehearsed = orbit("import", str(folder), "--user", "ana", "--dry-run")
    assert rehearsed.stderr.splitlines()[-1] == said.replace("hold is", "hold would be")


def test_the_bad_files_of_a_folder_are_named_whatever_is_in_them(orbit: Orbit, folder: Path) -> None:
    for name in ("first.zip", "second.zip"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("conversations.json", '[{"id": "s1", "mapping": {"a"')
    result = orbit("import", str(folder), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    for name in ("first.zip", "second.zip"):
        assert f"Error: {folder / name}: conversations.json" in result.stderr
    assert "nothing of these 2 files was stored; what the others of its 5 files" in result.stderr


def test_a_folder_without_a_conversation_is_a_failure(orbit: Orbit, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('[{"phone": 1}]')
    result = orbit("import", str(tmp_path), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    assert "None of the 2 files" in result.stderr
    assert orbit("status", "--user", "ana").exit_code == 2


def test_a_pipe_is_read_like_a_file(orbit: Orbit) -> None:
    result = orbit("import", "-", "--user", "ana", "--create-user", input=json.dumps(CHAT))
    assert result.exit_code == 0
    assert "messages  2 new" in result.stdout


def test_standard_input_can_be_named_once(orbit: Orbit, connection: Connection) -> None:
    result = orbit("import", "-", "-", "--user", "ana", "--create-user", input=json.dumps(CHAT))
    assert result.exit_code == 2
    assert "Standard input can be read once" in result.stderr
    assert connection.execute("select count(*) from orbitpilot.account").fetchone() == (0,)


def test_a_rehearsal_says_what_would_change_and_writes_nothing(
    imported: Orbit, connection: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "conversations.json"
    first, second = json.loads(path.read_text())
    first["mapping"]["s1-0"]["message"]["content"]["parts"] = ["I keep wasps."]
    third = json.loads(json.dumps(second).replace("s2", "s3"))
    del second["mapping"]["s2-2"]
    second["current_node"] = "s2-9"
    second["mapping"]["s2-9"] = json.loads(json.dumps(second["mapping"]["s2-0"]).replace("s2-0", "s2-9"))
    second["mapping"]["s2-9"]["parent"] = "s2-1"
    path.write_text(json.dumps([first, second, third, {"id": "s4", "mapping": None}]))
    before = everything(connection)
    result = imported("import", str(path), "--user", "ana", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{path}: this would change; nothing was stored",
        "  sessions  1 new, 1 grown, 2 edited, 0 unchanged",
        "  messages  4 new, 1 edited, 5 unchanged",
        "            1 off the active branch now",
        "  pairs     3 new",
        "  problems  1 broken_conversation",
        "    conversation s4: no mapping of nodes; skipped",
    ]
    assert everything(connection) == before
    rehearsed = imported.json("import", str(path), "--user", "ana", "--dry-run")
    assert rehearsed["dry_run"] is True
    done = imported.json("import", str(path), "--user", "ana")
    assert done["files"] == rehearsed["files"]


def test_a_rehearsal_counts_a_conversation_in_two_files_once(orbit: Orbit, export: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    again.write_bytes(export.read_bytes())
    files = orbit.json("import", str(export), str(again), "--user", "ana", "--create-user", "--dry-run")["files"]
    assert [(file["sessions_new"], file["sessions_unchanged"]) for file in files] == [(2, 0), (0, 2)]
    assert orbit("status", "--user", "ana").exit_code == 2


@pytest.mark.parametrize(("text", "exit_code"), [("", 0), ("\n{broken", 1)])
def test_strict_fails_by_warnings_and_imports_all_the_same(
    orbit: Orbit, tmp_path: Path, text: str, exit_code: int
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(CHAT) + text)
    result = orbit("import", str(path), "--user", "ana", "--create-user", "--strict")
    assert result.exit_code == exit_code
    assert len(orbit.json("pairs", "--user", "ana")) == 1


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A Slack export of one thread between two people and a bot."""
    path = tmp_path / "slack"
    (path / "kitchen").mkdir(parents=True)
    (path / "users.json").write_text('[{"id": "U1", "name": "ana"}, {"id": "U2", "name": "bo"}]')
    (path / "channels.json").write_text('[{"id": "C1", "name": "kitchen"}]')
    posts = [
        {"type": "message", "ts": f"170000000{number}.0", "thread_ts": "1700000001.0", "text": text, **speaker}
        for number, (speaker, text) in enumerate(
            [
                ({"user": "U1"}, "Eggs?"),
                ({"bot_id": "B1"}, "Ten minutes."),
                ({"user": "U2"}, "Ice?"),
                ({"bot_id": "B1"}, "A night."),
            ],
            start=1,
        )
    ]
    (path / "kitchen" / "2023-11-14.json").write_text(json.dumps(posts))
    return path


def test_without_a_bot_a_slack_export_says_which_there_are(orbit: Orbit, workspace: Path) -> None:
    result = orbit("import", str(workspace), "--user", "ana", "--create-user")
    assert result.exit_code == 1
    assert "B1 (2 messages)" in result.stderr
    assert "--bot ID or ORBIT_SLACK_BOT" in result.stderr


@pytest.mark.parametrize("by_environment", [True, False])
def test_the_bot_answers_and_other_users_are_not_trusted(
    orbit: Orbit, workspace: Path, connection: Connection, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    named = ["--bot", "B1"]
    if by_environment:
        monkeypatch.setenv("ORBIT_SLACK_BOT", named.pop())
        named.clear()
    result = orbit("import", str(workspace), "--user", "ana", "--create-user", "--owner", "U1", *named)
    assert result.exit_code == 0, result.output
    states = pair_states(connection, Store("ana")).select("session_id", "user_text", "reply_text").rows()
    assert states == [("C1:1700000001.0", "Eggs?", "Ten minutes."), ("C1:1700000001.0", "Ice?", "A night.")]
    authors = connection.execute("select author from orbitpilot.message where role = 'user' order by position")
    assert authors.fetchall() == [(None,), ("U2",)]
    participants = connection.execute("select actor_id from orbitpilot.session_participant order by 1")
    assert participants.fetchall() == [("U1",), ("U2",)]
