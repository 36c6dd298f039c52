import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from orbit_pipelines.errors import UnreadableExport
from orbit_pipelines.history import parquet, reading
from orbit_pipelines.history.formats.registry import FORMATS, recognise
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def turn(role: str, content: str | None, number: int | None = None, at: datetime | None = None) -> dict[str, Any]:
    return {
        "role": role,
        "content": content,
        "turn_identifier": number,
        "timestamp": at,
        "hashed_ip": "TRACE",
        "header": {"accept-language": "TRACE", "user-agent": "TRACE"},
        "toxic": False,
    }


WILDCHAT = [
    {
        "conversation_hash": "w1",
        "model": "gpt-4",
        "timestamp": NOON,
        "conversation": [
            turn("user", "Which bus?", 1),
            turn("assistant", "The 4.", 1, datetime(2024, 5, 1, 11, tzinfo=UTC)),
            turn("user", "And back?", 2),
            turn("assistant", "The 5.", 2),
        ],
        "turn": 2,
        "openai_moderation": [{"flagged": False}],
    },
    {
        "conversation_hash": "w2",
        "model": "gpt-4",
        "timestamp": NOON,
        "conversation": [
            turn("user", "Early?"),
            turn("assistant", "Yes."),
            turn("user", "Late?"),
            turn("assistant", ""),
        ],
        "turn": 2,
        "openai_moderation": [],
    },
]
LMSYS = [
    {
        "conversation_id": "l1",
        "model": "vicuna-13b",
        "conversation": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
        "turn": 1,
        "language": "English",
        "openai_moderation": [],
    }
]


@pytest.fixture
def as_lines(tmp_path: Path) -> Callable[[list[Any]], Path]:
    def write(rows: list[Any]) -> Path:
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(json.dumps(row, default=datetime.isoformat) for row in rows))
        return path

    return write


@pytest.fixture
def as_parquet(tmp_path: Path) -> Callable[[list[Any]], Path]:
    def write(rows: list[Any]) -> Path:
        path = tmp_path / "rows.data"
        pl.DataFrame(rows).write_parquet(path, row_group_size=1)
        return path

    return write


@pytest.mark.parametrize("rows", [WILDCHAT, LMSYS], ids=["wildchat", "lmsys"])
def test_parquet_lines_and_parquet_in_a_zip_are_the_same(
    rows: list[Any], as_lines: Any, as_parquet: Any, read_file: Callable[..., Reading], tmp_path: Path
) -> None:
    archive = tmp_path / "export.zip"
    path = as_parquet(rows)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(path, "data/train-000.parquet")
    sessions = read_file(as_lines(rows))[0]
    assert len(sessions) == len(rows)
    assert read_file(path)[0] == sessions
    assert read_file(archive)[0] == sessions


def test_a_turn_has_one_time_and_the_row_s_is_the_last_turn_s(
    as_parquet: Any, read_file: Callable[..., Reading]
) -> None:
    first, second = read_file(as_parquet(WILDCHAT))[0]
    eleven = datetime(2024, 5, 1, 11, tzinfo=UTC)
    assert [message.sent_at for message in first.messages] == [eleven, eleven, NOON, NOON]
    assert [message.sent_at for message in second.messages] == [None, None, NOON]
    assert (first.started_at, second.started_at) == (eleven, NOON)


def test_ids_are_the_rows_own(as_parquet: Any, read_file: Callable[..., Reading]) -> None:
    first, second = read_file(as_parquet(WILDCHAT))[0]
    assert (first.session_id, second.session_id) == ("w1", "w2")
    assert [message.message_id for message in first.messages] == ["1", "1-assistant", "2", "2-assistant"]
    assert [message.parent_id for message in first.messages] == [None, "1", "1-assistant", "2"]
    assert [message.message_id for message in second.messages] == [None, None, None]


def test_what_traces_the_people_is_not_even_decoded(as_parquet: Any) -> None:
    with as_parquet(WILDCHAT).open("rb") as file:
        rows = list(parquet.read_parquet("rows", file))
    assert "TRACE" not in repr(rows)
    assert all("openai_moderation" not in row for row in rows)
    assert rows[0]["conversation_hash"] == "w1"


def test_each_collection_is_recognised_by_its_marks() -> None:
    assert recognise([WILDCHAT[0]]) is FORMATS["wildchat"]
    assert recognise([LMSYS[0]]) is FORMATS["lmsys"]
    assert recognise([{"conversation": [], "conversation_hash": "x"}]) is None


def test_a_collection_of_another_shape_in_parquet_is_read_as_what_it_is(
    as_parquet: Any, read_file: Callable[..., Reading]
) -> None:
    rows = [{"messages": [{"role": "user", "content": "Hi"}]}, {"messages": [{"role": "user", "content": "Ho"}]}]
    assert [session.messages[0].content for session in read_file(as_parquet(rows))[0]] == ["Hi", "Ho"]


def test_broken_rows_and_turns_are_counted_and_named(as_lines: Any, read_file: Callable[..., Reading]) -> None:
    rows = [
        *LMSYS,
        {"conversation_id": "l2", "conversation": None},
        {"conversation_id": "l3", "conversation": [5, turn("tool", "x"), turn("narrator", "x")]},
    ]
    sessions, problems = read_file(as_lines(rows))
    assert len(sessions) == 1
    assert problems.counts == {
        "broken_conversation": 1,
        "broken_message": 1,
        "unknown_role": 1,
        "empty_conversation": 1,
    }


def test_a_damaged_file_says_so_and_shows_none_of_it(as_parquet: Any, read_file: Callable[..., Reading]) -> None:
    path = as_parquet(WILDCHAT)
    whole = path.read_bytes()
    for damaged in (whole[:-20], whole[: len(whole) // 2], whole[:100] + b"\0" * 200 + whole[300:]):
        path.write_bytes(damaged)
        with pytest.raises(UnreadableExport, match=r"rows\.data is a Parquet file that can't be read") as raised:
            read_file(path)
        assert raised.value.__context__ is None


def test_rows_larger_than_conversations_are_refused(
    as_parquet: Any, read_file: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "LARGEST_BATCH", 10)
    with pytest.raises(UnreadableExport, match="more than 10 bytes"):
        read_file(as_parquet(WILDCHAT))


def test_parquet_that_can_be_read_only_forwards_is_limited(
    as_parquet: Any, read_file: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = as_parquet(WILDCHAT)
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(path, "train.parquet")
    monkeypatch.setattr(reading, "LARGEST_IN_MEMORY", 100)
    with pytest.raises(UnreadableExport, match=r"train\.parquet has more than 100 bytes"):
        read_file(archive)
    assert len(read_file(path)[0]) == 2
