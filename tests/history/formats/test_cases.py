"""The cases made after public reports of importers failing, as far as a stream of sessions can show them."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.registry import FORMATS
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems

ROOT = Path(__file__).parents[3]


def find_cases(folder: Path) -> list[Path]:
    """The cases of the formats that are read here."""
    expected = sorted(folder.glob("*/expected.json"))
    return [case.parent for case in expected if json.loads(case.read_text())["format"] in FORMATS]


COPIES = find_cases(ROOT / "tests" / "fixtures" / "cases")
SHARED = find_cases(ROOT.parent / "shared" / "cases")


def fold(messages: Iterable[ParsedMessage]) -> tuple[list[dict[str, Any]], list[str | None]]:
    """The pairs, each user message with what was said after it, and the ids of replies to nothing."""
    pairs: list[dict[str, Any]] = []
    strays = []
    for message in messages:
        if message.role == "user":
            pairs.append({"message": message, "replies": []})
        elif pairs:
            pairs[-1]["replies"].append(message)
        else:
            strays.append(message.message_id)
    return pairs, strays


def plain(text: str) -> str:
    """What remains where a case leaves the joining of parts and the sign for broken characters open."""
    return " ".join(text.replace("\ufffd", "").split())


def is_same(expected: str, seen: str) -> bool:
    return expected.startswith("(text of") or plain(expected) == plain(seen)


def check_pair(expected: dict[str, Any], pair: dict[str, Any]) -> None:
    message, replies = pair["message"], pair["replies"]
    assert is_same(expected["user"], message.content)
    assert is_same(expected.get("assistant", "(text of the input)"), "\n\n".join(reply.content for reply in replies))
    assert len(replies) == len(expected["assistant_ids"])
    if message.message_id is not None:
        assert message.message_id == expected["user_id"]
        assert [reply.message_id for reply in replies] == expected["assistant_ids"]
    if "user_time_utc" in expected:
        assert message.sent_at == datetime.fromisoformat(expected["user_time_utc"])
    assert any(reply.is_partial for reply in replies) == expected.get("reply_incomplete", False)


def check_ids(expected: list[str], seen: list[str | None]) -> None:
    assert len(seen) == len(expected)
    assert seen == expected or seen == [None] * len(seen)


def of_conversation(expected: dict[str, Any], number: int, sessions: list[ParsedSession]) -> ParsedSession:
    """The last session of that id, since the later one counts; by its place where the format has no ids."""
    named = [session for session in sessions if session.session_id == expected["conversation_id"]]
    return named[-1] if named else sessions[number]


@pytest.mark.parametrize("case", [*COPIES, *SHARED], ids=lambda case: f"{case.parents[1].name}-{case.name}")
def test_a_case_gives_the_sessions_it_should(
    case: Path, read_file: Callable[..., tuple[list[ParsedSession], Problems]]
) -> None:
    expected = json.loads((case / "expected.json").read_text())
    excluded: set[str] = set()
    if (marks := case / "do_not_remember.json").exists():
        excluded = set(json.loads(marks.read_text())["user_message_ids"])
    path = next(case / name for name in expected["inputs"] if name != "do_not_remember.json")

    sessions, problems = read_file(path)

    remembered: list[str] = []
    for session in sessions:
        for pair in fold(session.messages)[0]:
            if not session.do_not_remember and pair["message"].message_id not in excluded:
                remembered += (message.content for message in (pair["message"], *pair["replies"]))
    for number, conversation in enumerate(expected["conversations"]):
        session = of_conversation(conversation, number, sessions)
        pairs, strays = fold(session.messages)
        if not any(pair["user"] == "" for pair in conversation["pairs"]):
            # A question without words is no memory, and the reply to it has none either.
            strays += [reply.message_id for pair in pairs if not pair["message"].content for reply in pair["replies"]]
            pairs = [pair for pair in pairs if pair["message"].content]
        unanswered = [pair["message"].message_id for pair in pairs if not pair["replies"]]
        check_ids(conversation["unanswered_user_ids"], unanswered)
        # A reply to nothing may be dropped together with the question that had no words.
        if strays:
            check_ids(conversation["assistant_without_user_ids"], strays)
        pairs = [pair for pair in pairs if pair["replies"] and pair["message"].message_id not in excluded]
        assert len(pairs) == len(conversation["pairs"])
        for expected_pair, pair in zip(conversation["pairs"], pairs, strict=True):
            check_pair(expected_pair, pair)
        if "title" in conversation:
            assert session.title == conversation["title"]
    for words in expected.get("must_not_contain", ()):
        assert not any(words in text for text in remembered)
    assert problems.counts.get("broken_line", 0) == expected.get("malformed_lines", 0)
    assert problems.counts.get("broken_conversation", 0) == len(expected.get("skipped_conversations", ()))
    for warning in expected.get("warnings_expected", ()):
        kind = "cycle" if warning.startswith("cycle") else "current_node_missing"
        named = warning.split()[-1] if warning.split()[-1][-1].isdigit() else ""
        assert any(problem.kind == kind and problem.where.endswith(named) for problem in problems.shown)


def test_the_copies_of_the_cases_are_there() -> None:
    assert len(COPIES) >= 17
