from collections.abc import Callable
from pathlib import Path

import pytest

from orbit_pipelines.errors import NoConversation, UnreadableExport
from orbit_pipelines.history.folders import list_exports


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Make files of these names."""

    def make(*names: str) -> Path:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"[]")
        return tmp_path

    return make


def listed(path: Path) -> list[str]:
    return [export.relative_to(path).as_posix() for export in list_exports(path).exports]


def test_every_file_that_can_hold_conversations_is_an_export_in_the_order_of_names(folder: Callable[..., Path]) -> None:
    path = folder(
        "b.jsonl", "a.json", "Z.zip", "c.parquet", "notes.md", "photo.png", "users.json", ".hidden.json",
        "deep/er/d.ndjson", "__MACOSX/a.json", ".git/x.json",
    )  # fmt: skip
    assert listed(path) == ["a.json", "b.jsonl", "c.parquet", "Z.zip", "deep/er/d.ndjson"]


def test_shards_come_in_the_order_of_their_numbers_without_what_lies_beside_them(folder: Callable[..., Path]) -> None:
    path = folder("conversations-10.json", "conversations-2.json", "user.json", "other.json", "more/chats.json")
    assert listed(path) == ["conversations-2.json", "conversations-10.json", "other.json", "more/chats.json"]


def test_content_decides_where_a_name_tells_nothing(tmp_path: Path) -> None:
    chat = '{"messages": [{"role": "user", "content": "Tea?"}]}'
    contents = {
        "conversations.json": "[]", "log.txt": chat, "export": "PK\3\4", "report.docx": "PK\3\4", "page.html": "<p>",
        "memories.json": chat, "user.json": '{"id": 1}', "sessions.json": "{}", "words.txt": "[1] A footnote",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    assert listed(tmp_path) == ["log.txt", "conversations.json", "memories.json", "export"]
    assert list_exports(tmp_path).passed_over == 3


def test_what_is_an_export_as_a_whole_is_not_taken_apart(folder: Callable[..., Path]) -> None:
    path = folder("team/users.json", "team/general/2025-01-01.json", "team/general/2025-01-02.json", "chat.json")
    assert listed(path) == ["chat.json", "team"]
    assert list_exports(path / "team").exports == [path / "team"]


def test_a_folder_without_exports_says_so(folder: Callable[..., Path]) -> None:
    for path in (folder(), folder("notes.md")):
        with pytest.raises(NoConversation, match=r"is a folder, but nothing.*\. Name the folder or file that"):
            list_exports(path)


def test_a_folder_that_cannot_be_listed_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableExport, match="can't be listed"):
        list_exports(tmp_path / "none")


def test_links_lead_round_no_circle(folder: Callable[..., Path]) -> None:
    path = folder("inner/a.json")
    (path / "inner" / "up").symlink_to(path)
    assert listed(path) == ["inner/a.json"]
