import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from orbit_pipelines.errors import ImportFailed, NoConversation, UnknownExportFormat, UnreadableExport
from orbit_pipelines.history import rows
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
    with pytest.raises(UnknownExportFormat, match="no format 'word'"):
        read_text(ROW, "word")


EXAMPLES = {
    "chatgpt": {"mapping": {}},
    "claude": {"chat_messages": []},
    "librechat": {"conversationId": "s", "messages": []},
    "openai-messages": ROW,
    "openclaw": {"type": "message", "message": {"role": "user", "content": "PRIVATE"}},
    "openwebui": {"chat": {"history": {"messages": {}}}},
    "sharegpt": {"conversations": [{"from": "human", "value": "PRIVATE"}]},
    "lmsys": {"conversation": [{"role": "user", "content": "PRIVATE"}]},
    "slack": {"type": "message", "ts": "1700000000.000100", "text": "PRIVATE"},
}


@pytest.mark.parametrize("named", [name for name in FORMATS if name != "slack"])
def test_a_format_that_is_named_wrongly_is_told_from_what_the_file_looks_like(
    named: str, read_text: Callable[..., Reading]
) -> None:
    # WildChat's and LMSYS's rows are read alike.
    for name, example in EXAMPLES.items():
        if name == named or (named, name) == ("wildchat", "lmsys"):
            continue
        with pytest.raises(NoConversation) as raised:
            read_text([example], named)
        message = str(raised.value)
        assert f"It was read as {named}, but looks like {name} (" in message
        assert "leave --format out" in message
        assert "PRIVATE" not in message


def test_a_format_that_is_named_wrongly_for_what_nobody_knows_says_so(read_text: Callable[..., Reading]) -> None:
    with pytest.raises(NoConversation, match="It was read as claude; leave --format out"):
        read_text([{"phone": 1}], "claude")


@pytest.mark.parametrize("format_name", ["auto", "openai-messages"])
@pytest.mark.parametrize("line", ["{x", '{"messages": [{"role"', '{"messages": [{"role": "user", "content": "PRIV'])
def test_any_number_of_broken_lines_may_stand_before_a_good_one(
    line: str, format_name: str, read_text: Callable[..., Reading]
) -> None:
    for count in (99, 100, 2000):
        sessions, problems = read_text("\n".join([line] * count + [json.dumps(ROW)] * 2), format_name)
        assert len(sessions) == 2
        assert problems.counts == {"broken_line": count}
        assert problems.shown[0].where == "line 1"


def test_what_is_no_json_is_given_up_unless_somebody_says_what_it_is(
    read_text: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ROWS_LOOKED_AT", 50)
    content = "\n".join(["{x"] * 50 + [json.dumps(ROW)])
    with pytest.raises(UnknownExportFormat, match="nor lines of JSON"):
        read_text(content)
    sessions, problems = read_text(content, "openai-messages")
    assert len(sessions) == 1
    assert problems.counts == {"broken_line": 50}


@pytest.mark.parametrize(
    ("content", "seen", "advice"),
    [
        (gzip.compress(b"[]", mtime=0), "packed with gzip", "Unpack it first"),
        (bz2.compress(b"[]"), "packed with bzip2", "Unpack it first"),
        (lzma.compress(b"[]"), "packed with xz", "Unpack it first"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive", "Unpack it first"),
        (b"Rar!\x1a\x07\1\0", "a RAR archive", "Unpack it first"),
        (b"conversations.json".ljust(257, b"\0") + b"ustar", "a tar archive", "Unpack it first"),
        (b"%PDF-1.7\n1\n", "a PDF document", "own export gave you"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database", "own export gave you"),
        (b"\x89PNG\r\n\x1a\n", "an image", "own export gave you"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<p>", "a web page", "own export gave you"),
        (bytes(5000), "NUL bytes and no data", "Export or download it again"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_people_take_for_an_export_is_named_with_what_to_do(
    content: bytes, seen: str, advice: str, read_text: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImportFailed, match=seen) as raised:
        read_text(content)
    assert advice in str(raised.value)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    with open_export("-") as export, pytest.raises(ImportFailed, match=seen):
        list(read_sessions(export, Problems()))


@pytest.mark.parametrize("content", ["", "[]", "null", '["a"]', "42", '{"messages": []}', '[{"phone": 1}]', "words"])
def test_whatever_holds_no_conversation_is_told_with_what_to_do(
    content: str, read_text: Callable[..., Reading]
) -> None:
    with pytest.raises(ImportFailed, match=r"\. (?:Export|Name|Is it the right|Known: .* name it with)"):
        read_text(content)


def test_an_empty_pipe_is_told_what_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO()))
    with open_export("-") as export, pytest.raises(NoConversation, match="Send an export into it"):
        list(read_sessions(export, Problems()))


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


@pytest.mark.parametrize("content", [b"PRIVATE notes\n" * 200, bytes(range(1, 256)) * 100])
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
