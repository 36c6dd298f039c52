"""Batches: whole sessions, bounded, and no session twice in one."""

import pytest

from orbit_pipelines.history import staging
from orbit_pipelines.history.staging import batch_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession


def session(session_id: str, messages: int, text: str = "text") -> ParsedSession:
    return ParsedSession(session_id, tuple(ParsedMessage(f"m{n}", None, "user", text) for n in range(messages)))


def batched(sessions: list[ParsedSession], batch_messages: int) -> list[list[str | None]]:
    return [[each.session_id for each in batch] for batch in batch_sessions(sessions, batch_messages)]


def test_no_session_is_cut() -> None:
    sessions = [session("a", 2), session("b", 5), session("c", 1), session("d", 1)]
    assert batched(sessions, 3) == [["a", "b"], ["c", "d"]]


def test_a_session_that_comes_again_begins_a_batch() -> None:
    assert batched([session("a", 1), session("b", 1), session("a", 1), session("c", 1)], 100) == [
        ["a", "b"],
        ["a", "c"],
    ]


def test_sessions_without_messages_fill_a_batch_too() -> None:
    assert batched([session("a", 0), session("b", 0), session("c", 0)], 2) == [["a", "b"], ["c"]]


def test_long_messages_end_a_batch_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "BATCH_CHARACTERS", 10)
    assert batched([session("a", 1, "x" * 10), session("b", 1), session("c", 1)], 100) == [["a"], ["b", "c"]]


def test_nothing_makes_no_batch() -> None:
    assert batched([], 10) == []
