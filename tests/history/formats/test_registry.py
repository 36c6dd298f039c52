import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from orbit_pipelines.errors import UnknownExportFormat, UnreadableExport
from orbit_pipelines.history.formats.registry import FORMATS, read_sessions, recognise
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]

ROW = {"messages": [{"role": "user", "content": "PRIVATE words"}]}


def test_a_format_is_recognised_by_content_and_not_by_name(
    read_file: Callable[..., Reading], exports: Path, tmp_path: Path
) -> None:
    for name, sessions in (("chatgpt_traits.json", 12), ("messages_traits.jsonl", 3)):
        renamed = tmp_path / "something.zip"
        renamed.write_bytes((exports / name).read_bytes())
        assert len(read_file(renamed)[0]) == sessions


def test_the_first_conversations_may_be_broken(read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text([None, {"title": "shell"}, 5, ROW])
    assert len(sessions) == 1
    assert problems.counts == {"broken_conversation": 3}


def test_an_unknown_format_is_named_by_what_was_seen_and_never_by_its_words(read_text: Callable[..., Reading]) -> None:
    with pytest.raises(UnknownExportFormat) as raised:
        read_text([{"uuid": "PRIVATE", "chats": ["PRIVATE"], "my PRIVATE key": 1}])
    message = str(raised.value)
    assert "objects with the keys uuid, chats and 1 more" in message
    assert all(name in message for name in FORMATS)
    assert "PRIVATE" not in message
    assert raised.value.__context__ is None


def test_a_format_can_be_named(read_text: Callable[..., Reading]) -> None:
    assert len(read_text(ROW, "openai-messages")[0]) == 1
    with pytest.raises(UnreadableExport, match=r"no conversation with a message in it \(1 broken conversation\)"):
        read_text(ROW, "chatgpt")
    with pytest.raises(UnknownExportFormat, match="no format 'word'"):
        read_text(ROW, "word")


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("", "is empty"),
        ("\ufeff \r\n", "is empty"),
        ("[]", "empty list"),
        ("null", "nothing but null"),
        ("42", "numbers"),
        ('["PRIVATE"]', "strings"),
        ('{"messages": []}', "1 empty conversation"),
        ('[{"mapping": {}}]', "1 empty conversation"),
        ('[{"messages": [{"role": "user", "content": "PRIV', "is cut short"),
        ('{"messages": [{"role": "user", "content": "PRIV', "is cut short"),
        ('[{"messages": [{"role": "user"}]} {"PRIVATE": 1}]', "not valid JSON after its first 34"),
        ('[{"messages": [{"role": "user"}]}] PRIVATE', "not valid JSON after its first 35"),
        ('{"conversations": [{"mapping": {}}], "PRIVATE', "is cut short"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_which_file_and_what_was_seen(
    content: str, seen: str, read_text: Callable[..., Reading]
) -> None:
    with pytest.raises(UnreadableExport) as raised:
        read_text(content)
    message = str(raised.value)
    assert message.startswith("export ")
    assert seen in message
    assert "PRIV" not in message
    assert raised.value.__context__ is None


@pytest.mark.parametrize("content", [b"PRIVATE notes\n" * 200, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100])
def test_what_is_no_json_at_all_is_no_known_format(content: bytes, read_text: Callable[..., Reading]) -> None:
    with pytest.raises(UnknownExportFormat, match="neither a zip, nor JSON, nor lines of JSON") as raised:
        read_text(content)
    assert "PRIVATE" not in str(raised.value)


def test_a_file_cut_short_yields_what_stands_before_and_then_fails(tmp_path: Path) -> None:
    whole = json.dumps([ROW, ROW, ROW])
    path = tmp_path / "conversations.json"
    path.write_text(whole[:-20])
    with open_export(path) as export:
        sessions = read_sessions(export, Problems())
        next(sessions)
        next(sessions)
        with pytest.raises(UnreadableExport, match=r"conversations\.json is cut short"):
            next(sessions)


def test_standard_input_is_read_like_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.BytesIO(json.dumps([ROW]).encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=pipe))
    with open_export("-") as export:
        assert export.size is None
        assert len(list(read_sessions(export, Problems()))) == 1
    assert not pipe.closed


def test_the_first_format_that_recognises_a_row_is_taken() -> None:
    assert recognise([None, {"mapping": {}}]) is FORMATS["chatgpt"]
    assert recognise([{"messages": []}]) is FORMATS["openai-messages"]
    assert recognise([{"unknown": 1}]) is None
