"""Several documents in one container: each is recognised and read as if it was alone."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

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
    assert problems.counts == {"unknown_document": 4, "broken_line": 1}
    assert [problem.where for problem in problems.shown if problem.kind == "unknown_document"] == [
        "a.json",
        "c.json",
        "d.json",
        "e.json",
    ]
    assert "PRIVATE" not in repr(problems.shown)


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
