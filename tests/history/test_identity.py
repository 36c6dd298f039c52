"""Ids from content and place."""

import re

import pytest

from orbit_pipelines.history.identity import identify_messages, identify_sessions
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Role

KEY = b"k" * 32


def turn(
    content: str, role: Role = "user", message_id: str | None = None, parent_id: str | None = None
) -> ParsedMessage:
    return ParsedMessage(message_id, parent_id, role, content)


def session_ids(*sessions: ParsedSession, key: bytes = KEY) -> list[str | None]:
    return [session.session_id for session in identify_sessions(sessions, key)]


def nameless(*messages: ParsedMessage) -> ParsedSession:
    return ParsedSession(None, messages)


def test_an_id_of_the_format_stays() -> None:
    assert session_ids(ParsedSession("given", (turn("hello"),))) == ["given"]


def test_a_session_is_named_by_its_first_user_message() -> None:
    [plain] = session_ids(nameless(turn("hello")))
    assert plain is not None
    assert re.fullmatch(r"[0-9a-f]{32}-0", plain)
    assert session_ids(nameless(turn("Welcome.", "assistant"), turn("hello"), turn("more"))) == [plain]
    assert session_ids(nameless(turn("hallo"))) != [plain]


def test_equal_openings_are_told_apart_by_their_order() -> None:
    first, second, other, third = session_ids(*(nameless(turn(text)) for text in ("hi", "hi", "yo", "hi")))
    assert first is not None
    assert second == first.replace("-0", "-1")
    assert third == first.replace("-0", "-2")
    assert other is not None
    assert other.endswith("-0")


def test_a_session_without_a_user_message_is_named_by_its_first_message() -> None:
    assert session_ids(nameless(turn("Good morning.", "assistant"))) == session_ids(nameless(turn("Good morning.")))


def test_nothing_can_name_a_session_without_id_and_messages() -> None:
    assert session_ids(nameless(), ParsedSession("", ())) == []


def test_another_key_gives_another_id() -> None:
    hello = nameless(turn("hello"))
    assert session_ids(hello, key=b"a" * 32) != session_ids(hello, key=b"b" * 32)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([None, None, None], ["m0", "m1", "m2"]),
        (["x", "y"], ["x", "y"]),
        (["x", None, None, "y", None], ["x", "x~1", "x~2", "y", "y~1"]),
        ([None, "x", None], ["m0", "x", "x~1"]),
        (["", "x"], ["m0", "x"]),
        (["x", "x", "x"], ["x", "x~1", "x~2"]),
        ([None, "m0"], ["m0~", "m0"]),
    ],
)
def test_messages_without_an_id_are_named_by_their_place(given: list[str | None], expected: list[str]) -> None:
    named = identify_messages(tuple(turn("text", message_id=each) for each in given))
    assert [message.message_id for message in named] == expected


def test_the_parent_is_the_message_before_unless_the_format_knows() -> None:
    named = identify_messages((turn("a"), turn("b"), turn("c", parent_id="elsewhere")))
    assert [message.parent_id for message in named] == [None, "m0", "elsewhere"]


def test_what_is_on_the_branch_is_not_left_behind() -> None:
    session = ParsedSession("s", (turn("a", message_id="x"),), left_behind=frozenset({"x", "y"}))
    [identified] = identify_sessions([session], KEY)
    assert identified.left_behind == {"y"}
