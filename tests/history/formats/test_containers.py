"""Several documents in one container: each is recognised and read as if it was alone."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.errors import NoConversation, UnknownExportFormat, UnreadableExport
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]
Pack = Callable[..., Path]

CHAT = json.dumps({"messages": [{"role": "user", "content": "Tea?"}]})


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Write a zip of these names and contents."""

    def write(files: dict[str, bytes | str]) -> Path:
        path = tmp_path / "many.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path

    return write


def test_a_zip_of_many_formats_gives_what_its_files_give_one_by_one(
    pack: Pack, read_file: Callable[..., Reading], exports: Path
) -> None:
    paths = sorted(exports.iterdir())
    sessions, problems = read_file(pack({path.name: path.read_bytes() for path in paths}))
    alone = [read_file(path) for path in paths]
    assert sessions == [session for reading, _ in alone for session in reading]
    assert problems.counts == {
        kind: sum(other.counts.get(kind, 0) for _, other in alone)
        for kind in {kind for _, other in alone for kind in other.counts}
    }


def test_transcripts_in_a_zip_are_a_session_each(pack: Pack, read_file: Callable[..., Reading], exports: Path) -> None:
    path = next(path for path in exports.iterdir() if "openclaw" in path.name)
    again = path.read_bytes()
    one, _ = read_file(path)
    two, _ = read_file(pack({"sessions/a.jsonl": again, "sessions/b.jsonl": again, "sessions/sessions.json": "{}"}))
    assert two == one + one


def test_what_is_no_export_among_others_is_reported_and_left_out(pack: Pack, read_file: Callable[..., Reading]) -> None:
    path = pack({"a.json": '[{"phone": 1}]', "b.jsonl": CHAT, "c.json": "", "d.json": "PRIVATE", "e.json": "[]"})
    sessions, problems = read_file(path)
    assert len(sessions) == 1
    assert problems.counts == {"unknown_document": 4}
    assert [problem.where for problem in problems.shown if problem.kind == "unknown_document"] == [
        "a.json",
        "c.json",
        "d.json",
        "e.json",
    ]
    assert "PRIVATE" not in repr(problems.shown)


CHATGPT = json.dumps(
    [{"id": "g", "mapping": {"u": {"id": "u", "message": {"author": {"role": "user"}, "content": "G?"}}}}]
)
CLAUDE = json.dumps([{"uuid": "c", "chat_messages": [{"uuid": "1", "sender": "human", "text": "C?"}]}])


def opened_by(sessions: list[ParsedSession]) -> list[str]:
    return [session.messages[0].content for session in sessions]


def test_every_file_beside_the_shards_of_an_export_is_looked_into(
    pack: Pack, read_file: Callable[..., Reading]
) -> None:
    sessions, problems = read_file(
        pack(
            {
                "conversations-000.json": CHATGPT,
                "conversations (1).json": CHATGPT.replace('"g"', '"g1"').replace("G?", "G1?"),
                "claude-export.json": CLAUDE,
                "deep/log.txt": f"{CHAT}\n{CHAT}\n",
                "user.json": '{"id": "PRIVATE"}',
                "message_feedback.json": "[]",
                "memories.json": CHAT.replace("Tea?", "Kept aside?"),
                "notes.json": '{"a": 1}',
                "broken.json": '{"a": ',
                "chat.html": "<html>",
                "image/photo.png": b"\x89PNG",
            }
        )
    )
    assert opened_by(sessions) == ["Tea?", "Tea?", "G?", "C?", "G1?", "Kept aside?"]
    assert problems.counts == {"current_node_missing": 2, "unknown_document": 2}
    assert {problem.where for problem in problems.shown if problem.kind == "unknown_document"} == {
        "notes.json",
        "broken.json",
    }


def test_what_lies_aside_is_not_read_as_the_format_that_is_named(pack: Pack, read_file: Callable[..., Reading]) -> None:
    path = pack({"a.jsonl": CHAT, "user.json": '{"id": 1}', "memories.json": CLAUDE, "sessions.json": CHAT})
    sessions, problems = read_file(path, "openai-messages")
    assert opened_by(sessions) == ["Tea?", "Tea?"]
    assert problems.counts == {}


def test_a_zip_of_nothing_but_what_lies_aside_holds_no_conversation(
    pack: Pack, read_file: Callable[..., Reading]
) -> None:
    with pytest.raises(UnknownExportFormat, match=r"only what products put beside them, such as user\.json"):
        read_file(pack({"user.json": "{}", "chat.html": "<html>"}))


def test_a_zip_in_a_zip_is_reported(pack: Pack, read_file: Callable[..., Reading]) -> None:
    sessions, problems = read_file(pack({"a.jsonl": CHAT, "more.zip": b"PK\3\4", "report.docx": b"PK\3\4"}))
    assert len(sessions) == 1
    assert [problem.where for problem in problems.shown] == ["more.zip"]


@pytest.mark.parametrize("join", ["\n".join, lambda rows: f"[{','.join(rows)}]"])
def test_a_row_of_another_format_is_read_as_that(join: Any, read_text: Callable[..., Reading]) -> None:
    rows = [
        CHATGPT[1:-1],
        CHAT,
        "5",
        CLAUDE[1:-1],
        '{"title": "a shell"}',
        CHATGPT[1:-1].replace('"g"', '"g1"').replace("G?", "G1?"),
    ]
    sessions, problems = read_text(join(rows))
    assert opened_by(sessions) == ["G?", "Tea?", "C?", "G1?"]
    assert problems.counts == {"current_node_missing": 2, "broken_conversation": 2}


def test_a_stray_row_does_not_end_a_transcript(read_text: Callable[..., Reading]) -> None:
    entries = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/"},
        {"type": "message", "id": "u", "parentId": None, "message": {"role": "user", "content": "Hm?"}},
        json.loads(CHAT),
        {"type": "message", "id": "a", "parentId": "u", "message": {"role": "assistant", "content": "Hm."}},
    ]
    [session], problems = read_text("\n".join(map(json.dumps, entries)))
    assert [message.content for message in session.messages] == ["Hm?", "Hm."]
    assert problems.counts == {"broken_message": 1}


def test_any_number_of_shells_may_stand_before_a_conversation(read_text: Callable[..., Reading]) -> None:
    shells = [{"title": f"shell {number}"} for number in range(1000)]
    sessions, problems = read_text([*shells, json.loads(CHAT)])
    assert opened_by(sessions) == ["Tea?"]
    assert problems.counts == {"broken_conversation": 1000}


TURNS = json.dumps([{"role": "user", "content": "Tea?"}, {"role": "assistant", "content": "Please."}])
PRETTY = json.dumps(json.loads(CHAT), indent=2)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (TURNS, 1),
        (f"{TURNS}\n{TURNS}\n", 2),
        (f"[{CHAT}]\n[{CHAT}, {CHAT}]\n", 3),
        (f"[{CHAT}][{CHAT}]", 2),
        (f"{PRETTY}\n{PRETTY}\n{PRETTY}", 3),
        (f"{CHAT}{CHAT}\n", 2),
        (f"{CHAT}{CHAT}\n{CHAT} {CHAT}\n{CHAT}", 5),
        (f"{CHAT},\n{CHAT},\n", 2),
        (json.dumps([{"from": "human", "value": "Tea?"}, {"from": "gpt", "value": "Please."}]), 1),
    ],
)
def test_files_that_were_put_together_carelessly_are_read(
    content: str, count: int, read_text: Callable[..., Reading]
) -> None:
    sessions, problems = read_text(content)
    assert opened_by(sessions) == ["Tea?"] * count
    assert problems.counts == {}


def test_a_broken_line_among_lists_is_reported(read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(f"{TURNS}\n[broken\n{TURNS}\n{CHAT}{{broken\n")
    assert opened_by(sessions) == ["Tea?", "Tea?"]
    assert problems.counts == {"broken_line": 2}


def test_a_document_that_breaks_off_refuses_them_all(pack: Pack, read_file: Callable[..., Reading]) -> None:
    with pytest.raises(UnreadableExport, match=r"b\.json is cut short"):
        read_file(pack({"a.jsonl": CHAT, "b.json": f"[{CHAT}, "}))


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.json": '[{"phone": 1}]', "b.json": "[]"}, UnknownExportFormat),
        ({"a.json": "[]", "b.json": '{"messages": []}'}, NoConversation),
    ],
)
def test_a_container_without_a_conversation_is_refused(
    files: dict[str, bytes | str], error: type[Exception], pack: Pack, read_file: Callable[..., Reading]
) -> None:
    with pytest.raises(error):
        read_file(pack(files))


@pytest.mark.parametrize("content", [f"\ufeff{CHAT}\r\n\r\n{CHAT}\r\n", f"[{CHAT},\r\n{CHAT}]", f"{CHAT}\n{CHAT}"])
def test_line_ends_and_marks_play_no_part(content: str, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(content)
    assert sessions == [sessions[0]] * 2
    assert problems.counts == {}
