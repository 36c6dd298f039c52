"""Exports of the formats that keep trees, imported again after they grew, shrank or moved."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store

HASH_KEY = b"k" * 32
FIXTURES = Path(__file__).parents[1] / "fixtures"
EXPORTS = ["claude_traits.json", "librechat_traits.json", "openclaw_traits.jsonl", "openwebui_traits.json"]

Connection = psycopg.Connection[Any]
ImportPath = Callable[[Path], ImportResult]
ImportText = Callable[[str], ImportResult]
Shown = Callable[..., str]


@pytest.fixture
def import_path(connection: Connection, store: Store) -> ImportPath:
    """Import one file into ana's store, and commit."""

    def run(path: Path) -> ImportResult:
        result = import_file(connection, store, path, hash_key=HASH_KEY, problems=Problems())
        connection.commit()
        return result

    return run


@pytest.fixture
def import_text(import_path: ImportPath, tmp_path: Path) -> ImportText:
    """Import a text, each time from a file of another name."""
    names = iter(range(100))

    def run(text: str) -> ImportResult:
        path = tmp_path / f"export-{next(names)}"
        path.write_text(text)
        return import_path(path)

    return run


def entry(identifier: str | None, parent: str | None, role: str) -> dict[str, Any]:
    message = {"role": role, "content": f"says {identifier}"}
    return {"type": "message", "id": identifier, "parentId": parent, "message": message}


HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-04-01T08:00:00Z", "cwd": "/"}
ENTRIES = [
    entry("u1", None, "user"),
    entry("a1", "u1", "assistant"),
    entry("u2", "a1", "user"),
    entry("a2", "u2", "assistant"),
]


def lines(*entries: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, entries))


@pytest.mark.parametrize("name", EXPORTS)
def test_the_same_export_twice_changes_nothing(
    name: str, import_path: ImportPath, rows: Callable[[], dict[str, list[Any]]]
) -> None:
    first = import_path(FIXTURES / "exports" / name)
    before = rows()
    again = import_path(FIXTURES / "exports" / name)
    assert first.sessions_new > 5
    assert not again.changed_anything
    assert rows() == before


def test_a_transcript_of_which_only_the_tail_is_left_deletes_nothing(import_text: ImportText, shown: Shown) -> None:
    import_text(lines(HEADER, *ENTRIES))
    whole = shown()
    assert not import_text(lines(HEADER, *ENTRIES[2:])).changed_anything
    assert shown() == whole == "u1:0/0 a1>0 u2:1/1 a2>1"
    import_text(lines(HEADER, *ENTRIES[3:], entry("u3", "a2", "user")))
    assert shown() == f"{whole} u3:2/2"


def test_a_line_that_broke_later_deletes_nothing(import_text: ImportText, shown: Shown) -> None:
    import_text(lines(HEADER, *ENTRIES))
    whole = shown()
    broken = [json.dumps(one) for one in (HEADER, *ENTRIES)]
    broken[3] = broken[3][:-20]
    assert not import_text("\n".join(broken)).changed_anything
    assert shown() == whole


def test_a_transcript_that_went_on_from_an_earlier_place_leaves_a_branch(import_text: ImportText, shown: Shown) -> None:
    import_text(lines(HEADER, *ENTRIES))
    result = import_text(lines(HEADER, *ENTRIES, entry("u2b", "a1", "user"), entry("a2b", "u2b", "assistant")))
    assert (result.messages_new, result.messages_deactivated) == (2, 2)
    assert shown() == "u1:0/0 a1>0 u2b:2/2 a2b>2 -a2>1 -u2:1/1"


def test_rows_without_ids_append_where_they_grew(import_text: ImportText, connection: Connection) -> None:
    bare = [{"type": "human", "content": "One?"}, {"type": "assistant", "content": "One."}]
    import_text(lines(*bare))
    result = import_text(lines(*bare, {"type": "human", "content": "Two?"}))
    assert (result.sessions_new, result.messages_new, result.messages_unchanged) == (0, 1, 2)
    assert connection.execute("select count(*) from orbitpilot.session").fetchall() == [(1,)]


def test_an_unfinished_reply_is_replaced_by_the_whole_one(
    import_text: ImportText, connection: Connection, shown: Shown
) -> None:
    case = FIXTURES / "cases" / "h17-librechat-branches-unfinished" / "conversation.json"
    conversation = json.loads(case.read_text())
    session_id = conversation["conversationId"]
    import_text(json.dumps(conversation))
    before = shown(session_id)
    last = conversation["messages"][-1]
    last |= {"text": "Snow at the window / the kettle sings to itself / nobody goes out", "unfinished": False}
    result = import_text(json.dumps(conversation))
    assert (result.messages_changed, result.messages_new) == (1, 0)
    assert shown(session_id) == before
    stored = connection.execute("select content, is_partial from orbitpilot.message where message_id = 'l5'")
    assert stored.fetchall() == [(last["text"], False)]


def test_who_wrote_what_is_stored_with_it(import_path: ImportPath, connection: Connection) -> None:
    import_path(FIXTURES / "exports" / "openclaw_traits.jsonl")
    kinds = connection.execute(
        "select session_id, session_kind, hook_source from orbitpilot.session where session_kind <> 'chat' order by 1"
    ).fetchall()
    assert kinds == [
        ("claw-beat", "heartbeat", None),
        ("claw-cron", "cron", None),
        ("claw-hook", "hook", "gmail"),
    ]
    group = connection.execute(
        "select message_id, author from orbitpilot.message where session_id = 'claw-group' order by position"
    ).fetchall()
    assert group == [("g1", "ann"), ("g2", "bob"), ("g3", None)]
    present = connection.execute("select session_id, actor_id from orbitpilot.session_participant order by 1, 2")
    assert present.fetchall() == [("claw-direct", "ann"), ("claw-group", "ann"), ("claw-group", "bob")]


def test_a_kind_stays_known_where_a_newer_file_does_not_tell_it(
    import_text: ImportText, connection: Connection
) -> None:
    def kind() -> Any:
        return connection.execute("select session_kind, hook_source from orbitpilot.session").fetchone()

    import_text(lines(HEADER, *ENTRIES))
    assert kind() == ("chat", None)
    import_text(lines(HEADER | {"sessionKey": "agent:main:hook:gmail:1"}, *ENTRIES))
    assert kind() == ("hook", "gmail")
    result = import_text(lines(HEADER, *ENTRIES))
    assert kind() == ("hook", "gmail")
    assert result.sessions_unchanged == 1
    import_text(lines(HEADER | {"sessionKey": "agent:main:main"}, *ENTRIES))
    assert kind() == ("chat", "gmail")


def test_a_mirrored_delivery_without_links_stays_on_the_branch_when_the_session_grows(
    import_text: ImportText, shown: Shown
) -> None:
    mirror = {
        "type": "message",
        "id": "m",
        "message": {"role": "assistant", "content": "Sent.", "model": "delivery-mirror"},
    }
    import_text(lines(HEADER, *ENTRIES[:2], mirror))
    assert shown() == "u1:0/0 a1>0 m>0"
    result = import_text(lines(HEADER, *ENTRIES[:2], mirror, *ENTRIES[2:]))
    assert shown() == "u1:0/0 a1>0 m>0 u2:1/1 a2>1"
    assert result.messages_deactivated == 0
