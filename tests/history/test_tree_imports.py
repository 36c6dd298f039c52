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


def chatgpt(links: dict[str, str | None], current: str) -> str:
    """A conversation of these messages, each under the one it is linked to."""
    roles = {"u": "user", "a": "assistant"}
    mapping = {
        key: {"id": key, "parent": parent, "message": {"author": {"role": roles[key[0]]}, "content": f"says {key}"}}
        for key, parent in links.items()
    }
    return json.dumps([{"id": "s", "current_node": current, "mapping": mapping}])


def librechat(links: dict[str, str | None], current: str) -> str:
    """An export without branches: the file is the branch."""
    del current
    messages = [
        {"messageId": key, "parentMessageId": parent, "isCreatedByUser": key[0] == "u", "text": f"says {key}"}
        for key, parent in links.items()
    ]
    return json.dumps({"conversationId": "s", "branches": False, "messages": messages})


def claude(links: dict[str, str | None], current: str) -> str:
    """A conversation of which only the branch in view was saved."""
    senders = {"u": "human", "a": "assistant"}
    messages = [
        {"uuid": key, "parent_message_uuid": parent, "sender": senders[key[0]], "text": f"says {key}"}
        for key, parent in links.items()
    ]
    return json.dumps({"uuid": "s", "current_leaf_message_uuid": current, "chat_messages": messages})


def openwebui(links: dict[str, str | None], current: str) -> str:
    """A chat whose other answers were deleted."""
    roles = {"u": "user", "a": "assistant"}
    messages = {
        key: {"id": key, "parentId": parent, "role": roles[key[0]], "content": f"says {key}"}
        for key, parent in links.items()
    }
    return json.dumps([{"id": "s", "chat": {"history": {"currentId": current, "messages": messages}}}])


FIRST = {"u1": None, "a1": "u1", "u2": "a1", "a2": "u2"}
"""What every history here begins with."""


@pytest.mark.parametrize("write", [chatgpt, librechat, claude, openwebui])
@pytest.mark.parametrize(
    ("later", "stored"),
    [
        ({"u1": None, "a9": "u1"}, "u1:0/0 a9>0 -a1>0 -a2>1 -u2:1/1"),
        ({"u1": None, "a1": "u1", "u2": "a1", "a9": "u2"}, "u1:0/0 a1>0 u2:1/1 a9>1 -a2>1"),
        ({"u9": None, "a9": "u9"}, "u9:2/2 a9>2 -a1>0 -a2>1 -u1:0/0 -u2:1/1"),
        ({"u1": None, "a1": "u1", "u9": "a1"}, "u1:0/0 a1>0 u9:2/2 -a2>1 -u2:1/1"),
        ({"u1": None, "a1": "u1"}, "u1:0/0 a1>0 u2:1/1 a2>1"),
        ({"u2": None, "a2": "u2"}, "u1:0/0 a1>0 u2:1/1 a2>1"),
        ({"u2": "gone", "a9": "u2"}, "u1:0/0 a1>0 u2:1/1 a2>1 a9>1"),
        ({**FIRST, "u3": "a2"}, "u1:0/0 a1>0 u2:1/1 a2>1 u3:2/2"),
    ],
)
def test_what_stands_beside_a_message_of_a_whole_branch_and_is_not_in_the_file_has_left_it(
    write: Callable[..., str], later: dict[str, str | None], stored: str, import_text: ImportText, shown: Shown
) -> None:
    import_text(write(FIRST, "a2"))
    import_text(write(later, list(later)[-1]))
    assert shown() == stored
    again = import_text(write(later, list(later)[-1]))
    assert not again.changed_anything


@pytest.mark.parametrize("write", [chatgpt, librechat, claude, openwebui])
def test_what_has_left_returns_with_its_file(write: Callable[..., str], import_text: ImportText, shown: Shown) -> None:
    import_text(write(FIRST, "a2"))
    later = import_text(write({"u1": None, "a9": "u1"}, "a9"))
    assert (later.messages_new, later.messages_deactivated) == (1, 3)
    back = import_text(write(FIRST, "a2"))
    assert (back.messages_reactivated, back.messages_deactivated) == (3, 1)
    assert shown() == "u1:0/0 a1>0 u2:1/1 a2>1 -a9>0"


def test_a_message_that_cannot_be_read_has_left_nothing(import_text: ImportText, shown: Shown) -> None:
    import_text(chatgpt(FIRST, "a2"))
    later = json.loads(chatgpt({**FIRST, "u3": "a1"}, "u3"))
    del later[0]["mapping"]["a2"]
    later[0]["mapping"]["u2"]["message"] = "broken"
    import_text(json.dumps(later))
    assert shown() == "u1:0/0 a1>0 u2:1/1 a2>1 u3:2/2"
