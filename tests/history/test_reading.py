import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from orbit_pipelines.errors import ImportFailed, UnknownExportFormat, UnreadableExport
from orbit_pipelines.history import reading
from orbit_pipelines.history.reading import open_export


@pytest.fixture
def pack(tmp_path: Path) -> Callable[..., Path]:
    """Write a zip of these entries, deflated, in this order."""

    def write(*entries: tuple[str, bytes]) -> Path:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries:
                archive.writestr(name, content)
        return path

    return write


def contents(path: Path) -> dict[str, bytes]:
    with open_export(path) as export:
        return {document.name: document.open().read() for document in export.documents}


def names(path: Path) -> list[str]:
    with open_export(path) as export:
        return [document.name for document in export.documents]


def test_a_file_is_one_document_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"[1]")
    assert contents(path) == {"notes.txt": b"[1]"}


def test_a_zip_gives_its_shards_in_the_order_of_their_numbers_and_then_the_rest(pack: Callable[..., Path]) -> None:
    path = pack(
        ("export/conversations-010.json", b"[10]"),
        ("export/Conversations-2.json", b"[2]"),
        ("export/conversations-001.json", b"[1]"),
        ("export/chat.html", b"<html>"),
        ("export/user.json", b"{}"),
        ("export/message_feedback.json", b"[]"),
        ("export/other.json", b"[]"),
        ("__MACOSX/export/._conversations-001.json", b"\0\5"),
        ("export/.conversations.json", b"x"),
        ("export/conversations.json/", b""),
    )
    assert names(path) == ["conversations-001.json", "Conversations-2.json", "conversations-010.json", "other.json"]
    with open_export(path) as export:
        assert [document.name for document in export.aside] == ["message_feedback.json", "user.json"]
        assert export.passed_over == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("conversations (1).json", b"whatever"),
        ("log.txt", b'{"messages": []}\n{"messages": []}\n'),
        ("log.txt", b'{broken\n{"messages": []}\n'),
        ("log.txt", b'\xef\xbb\xbf\r\n [ {"mapping": {}}]'),
        ("data", '[{"mapping": {}}]'.encode("utf-16")),
        ("data.bin", b"PAR1 and more"),
        ("half", b'{"mapping": {"' + b"x" * 10_000),
    ],
)
def test_whatever_is_data_by_name_or_by_content_is_looked_into(
    name: str, content: bytes, pack: Callable[..., Path]
) -> None:
    assert set(names(pack(("conversations.json", b"[]"), (name, content)))) == {"conversations.json", name}


def test_what_only_its_content_tells_comes_first_so_that_no_old_copy_has_the_last_word(
    pack: Callable[..., Path],
) -> None:
    chat = b'{"messages": []}'
    files = ("b.jsonl.bak", "conversations.json", "a.jsonl", "b.jsonl", "c.jsonl.deleted.2026-01-01T00-00-00.000Z")
    with open_export(pack(*((name, chat) for name in files))) as export:
        assert [document.name for document in export.documents] == [
            "b.jsonl.bak",
            "conversations.json",
            "a.jsonl",
            "b.jsonl",
        ]
        assert export.passed_over == 1


@pytest.mark.parametrize(
    "content",
    [
        b"", b"<html>", b"\x89PNG\r\n\x1a\n", b"plain words", b"[1] A footnote.", b"[ ] Buy tea", b"[a link](there)",
        b"[[wiki]]", b"{{ template }}", b"{\\rtf1 x}", b"{ not: json }", b'INFO {"a": 1}', bytes(range(256)),
    ],
)  # fmt: skip
def test_what_is_clearly_something_else_is_counted(content: bytes, pack: Callable[..., Path]) -> None:
    with open_export(pack(("conversations.json", b"[]"), ("other.txt", content))) as export:
        assert len(export.documents) == 1
        assert export.passed_over == 1


def test_a_zip_in_a_zip_is_named(pack: Callable[..., Path]) -> None:
    with open_export(pack(("conversations.json", b"[]"), ("inner.zip", b"PK\3\4"), ("a.docx", b"PK\3\4"))) as export:
        assert export.nested == ("inner.zip",)
        assert export.passed_over == 1


def test_without_shards_any_json_of_a_zip_may_hold_conversations(pack: Callable[..., Path]) -> None:
    path = pack(("b/chats.jsonl", b"1"), ("a.json", b"2"), ("user.json", b"3"), ("notes.md", b"4"))
    assert contents(path) == {"a.json": b"2", "chats.jsonl": b"1"}


def test_a_zip_without_conversations_says_so(pack: Callable[..., Path]) -> None:
    with pytest.raises(UnknownExportFormat, match=r"a zip of 2 entries, but none of them is JSON.*\. Name the zip"):
        names(pack(("readme.txt", b""), ("photo.png", b"\x89PNG")))


@pytest.mark.parametrize(
    "name", [b"\0", b"\0a", b".", b"..", b"./", b"/", b"\\", b"a\\b", b"\n", b"\x7f", b".json", b" "]
)
def test_an_entry_may_be_called_anything(pack: Callable[..., Path], name: bytes) -> None:
    stand_in = "~" * len(name)
    path = pack(("conversations.json", b"[1]"), (stand_in, b"[2]"))
    # No library writes such names; a mangled table of contents has them.
    path.write_bytes(path.read_bytes().replace(stand_in.encode(), name))
    assert contents(path)["conversations.json"] == b"[1]"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_path_are_both_read(pack: Callable[..., Path]) -> None:
    path = pack(("conversations.json", b"[1]"), ("./conversations.json", b"[2]"), ("conversations.json", b"[3]"))
    with open_export(path) as export:
        assert sorted(document.open().read() for document in export.documents) == [b"[1]", b"[2]", b"[3]"]


def test_paths_in_a_zip_lead_nowhere(pack: Callable[..., Path], tmp_path: Path) -> None:
    path = pack(("../../conversations.json", b"[1]"), ("C:\\Windows\\conversations-1.json", b"[2]"))
    assert contents(path) == {"conversations.json": b"[1]", "conversations-1.json": b"[2]"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["export.zip"]


@pytest.mark.parametrize("kind", ["file", "zip"])
def test_progress_counts_every_byte_of_the_size_known_up_front(
    kind: str, pack: Callable[..., Path], tmp_path: Path
) -> None:
    text = json.dumps(list(range(100_000))).encode()
    if kind == "zip":
        path = pack(("conversations-0.json", text), ("conversations-1.json", text))
    else:
        path = tmp_path / "conversations.json"
        path.write_bytes(text)
    steps: list[int] = []
    with open_export(path, progress=steps.append) as export:
        for document in export.documents:
            with io.BufferedReader(document.open(), 65536) as stream:
                while stream.read(65536):
                    pass
        assert sum(steps) == export.size
    assert len(steps) > 5


def test_a_bomb_is_refused_by_its_declared_size_naming_the_limit(pack: Callable[..., Path]) -> None:
    path = pack(("conversations.json", b"[" + b" " * 40_000_000 + b"]"))
    with pytest.raises(UnreadableExport, match="more than 300 times its"):
        names(path)


def test_a_bomb_that_declares_little_is_refused_while_it_unpacks(
    pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"[" + b" " * 3_000_000 + b"]"
    path = pack(("conversations.json", content))
    packed = path.read_bytes()
    path.write_bytes(packed.replace(struct.pack("<L", len(content)), struct.pack("<L", 1_000_000)))
    monkeypatch.setattr(reading, "RATIO_MATTERS_FROM", 100_000)
    monkeypatch.setattr(reading, "HIGHEST_RATIO", 400)
    with pytest.raises(UnreadableExport, match="more than 400 times its"):
        contents(path)


def test_a_zip_that_lies_about_a_size_within_the_limits_is_read_to_its_end(pack: Callable[..., Path]) -> None:
    content = b"[" + b" " * 3_000_000 + b"]"
    path = pack(("conversations.json", content))
    packed = path.read_bytes()
    path.write_bytes(packed.replace(struct.pack("<L", len(content)), struct.pack("<L", 1_000)))
    assert contents(path) == {"conversations.json": content}


def test_shards_are_limited_all_together(pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(*((f"conversations-{number}.json", os.urandom(1000)) for number in range(3)))
    monkeypatch.setattr(reading, "LARGEST_UNPACKED", 3000)
    assert len(contents(path)) == 3
    monkeypatch.setattr(reading, "LARGEST_UNPACKED", 2999)
    with pytest.raises(UnreadableExport, match=r"With conversations-2\.json the zip unpacks to more than 2,999 bytes"):
        names(path)


def test_what_is_counted_while_unpacking_is_limited_too(
    pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pack(("conversations.json", os.urandom(5000)))
    with open_export(path) as export:
        monkeypatch.setattr(reading, "LARGEST_UNPACKED", 4999)
        with pytest.raises(UnreadableExport, match="more than 4,999 bytes"):
            export.documents[0].open().read()


def test_a_zip_cut_short_or_damaged_says_so(pack: Callable[..., Path]) -> None:
    path = pack(("conversations.json", os.urandom(5000)))
    whole = path.read_bytes()
    path.write_bytes(whole[:2000])
    with pytest.raises(UnreadableExport, match="cut short or damaged"):
        contents(path)
    path.write_bytes(whole[:1000] + b"\0\0\0\0" + whole[1004:])
    with pytest.raises(UnreadableExport, match=r"conversations\.json can't be read to its end"):
        contents(path)


def test_an_encrypted_zip_says_what_to_do(pack: Callable[..., Path]) -> None:
    path = pack(("conversations.json", b"[]"))
    packed = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        packed[packed.index(signature) + offset] |= 1
    path.write_bytes(packed)
    with pytest.raises(UnreadableExport, match="encrypted in its zip"):
        contents(path)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("missing.json", "There is no file"),
        (".", "is a folder"),
        ("nul\0.json", "can't be opened"),
        ("x" * 5000, "can't be opened"),
    ],
)
def test_what_cannot_be_opened_says_which_path_and_why(name: str, seen: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=seen):
        contents(tmp_path / name)


def test_a_named_pipe_is_read_like_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keeps_open = os.open(path, os.O_RDWR)
    os.write(keeps_open, b"[1]")
    with open_export(path) as export:
        os.close(keeps_open)
        assert export.size is None
        assert export.documents[0].open().read() == b"[1]"


def test_a_zip_may_come_through_a_pipe(pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(("conversations.json", b"[1]")).read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(packed))))
    with open_export("-") as export:
        assert export.documents[0].open().read() == b"[1]"


def test_a_zip_from_a_pipe_is_held_in_memory_and_limited(
    pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(("conversations.json", os.urandom(5000))).read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(packed))))
    monkeypatch.setattr(reading, "LARGEST_IN_MEMORY", 4000)
    with pytest.raises(UnreadableExport, match="standard input has more than 4,000 bytes"), open_export("-"):
        pass


def test_a_file_on_standard_input_is_read_as_if_it_was_named(
    pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pack(("conversations.json", b"[1]")).open("rb") as file:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=file))
        with open_export("-") as export:
            assert export.size == 3
            assert export.documents[0].open().read() == b"[1]"


def test_a_folder_that_is_an_export_as_a_whole_is_read_like_its_zip(tmp_path: Path) -> None:
    (tmp_path / "general").mkdir()
    (tmp_path / "users.json").write_bytes(b"[]")
    for day in ("2025-01-02", "2025-01-01"):
        (tmp_path / "general" / f"{day}.json").write_bytes(b"[1]")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "2025-01-03.json").write_bytes(b"[1]")
    with open_export(tmp_path) as export:
        assert [(document.folder, document.name) for document in export.documents] == [
            ("general", "2025-01-01.json"),
            ("general", "2025-01-02.json"),
        ]
        assert [document.name for document in export.companions] == ["users.json"]
        assert export.size == 6
        stream = export.documents[0].open()
        assert stream.read() == b"[1]"
        stream.close()
        assert stream.closed
