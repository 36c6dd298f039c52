"""Every format's samples are recognised as that format and by no other, whatever their file is called."""

import json
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.registry import FORMATS, recognise
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.rows import read_rows
from orbit_pipelines.history.stream import Problems

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPORTS = {
    "chatgpt_traits.json": "chatgpt",
    "claude_traits.json": "claude",
    "librechat_traits.json": "librechat",
    "messages_traits.jsonl": "openai-messages",
    "openclaw_traits.jsonl": "openclaw",
    "openwebui_traits.json": "openwebui",
}
CASES = sorted((FIXTURES / "cases").glob("*/expected.json"))

ROWS: list[tuple[str, Any]] = [
    ("claude", {"uuid": "u", "name": "", "chat_messages": []}),
    ("claude", {"chat_messages": [{"sender": "human", "text": "x"}], "current_leaf_message_uuid": "x"}),
    ("openclaw", {"type": "session", "version": 7, "id": "s", "timestamp": "2026-01-01T00:00:00Z"}),
    ("openclaw", {"type": "message", "message": {"role": "user", "content": "x"}}),
    ("openclaw", {"type": "human", "content": "x"}),
    ("openclaw", {"type": "compaction", "id": "1", "parentId": "0", "summary": "x"}),
    ("openwebui", {"id": "c", "chat": {"history": {"messages": {}}}}),
    ("openwebui", {"id": "c", "chat": {"messages": [{"role": "user", "content": "x"}]}}),
    ("openwebui", {"history": {"messages": {}, "currentId": None}, "models": []}),
    ("openwebui", {"history": {"messages": {"u": {}}}, "messages": [{"role": "user", "content": "x"}]}),
    ("librechat", {"conversationId": "c", "messagesTree": []}),
    ("librechat", {"conversationId": "c", "messages": []}),
    ("openai-messages", {"messages": []}),
    ("openai-messages", {"conversationId": "c", "messages": [{"role": "user", "content": "x"}]}),
    ("librechat", {"conversationId": "c", "messages": [{"messageId": "m", "isCreatedByUser": True}]}),
]


def recognised_by(value: object) -> set[str]:
    return {name for name, known in FORMATS.items() if known.recognises(value)}


def rows_of(path: Path) -> list[object]:
    with open_export(path) as export:
        return [row.value for row in read_rows(export, Problems())]


@pytest.mark.parametrize("name", EXPORTS)
def test_no_other_format_recognises_any_row_of_a_fixture(name: str) -> None:
    seen = [recognised_by(value) for value in rows_of(FIXTURES / "exports" / name)]
    assert {EXPORTS[name]} in seen
    assert all(formats <= {EXPORTS[name]} for formats in seen)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_a_case_is_recognised_as_what_it_is_and_as_nothing_else(case: Path) -> None:
    expected = json.loads(case.read_text())
    for name in expected["inputs"]:
        if name == "do_not_remember.json":
            continue
        values = rows_of(case.parent / name)
        chosen = recognise(values)
        assert chosen is not None
        assert chosen.name == expected["format"]
        assert set().union(*map(recognised_by, values)) == {expected["format"]}


@pytest.mark.parametrize(("name", "value"), ROWS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_row_in_each_of_its_shapes_is_recognised_by_its_format_alone(name: str, value: object) -> None:
    assert recognised_by(value) == {name}


def test_fixtures_and_cases_speak_of_known_formats_only() -> None:
    assert set(EXPORTS.values()) <= set(FORMATS)
    assert {json.loads(case.read_text())["format"] for case in CASES} <= set(FORMATS)
