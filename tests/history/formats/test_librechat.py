import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.librechat import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> tuple[dict[str | None, ParsedSession], Problems]:
    """The sessions of the fixture, by title, and what was reported."""
    sessions, problems = read_file(exports / "librechat_traits.json")
    return {session.title: session for session in sessions}, problems


def ids(session: ParsedSession) -> list[str | None]:
    return [message.message_id for message in session.messages]


def texts(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages]


@pytest.mark.parametrize(
    ("title", "branch", "left_behind"),
    [
        ("branches", ["b-u1", "b-a2", "b-u2b", "b-a3"], {"b-a1", "b-u2"}),
        ("one branch", ["o-u1", "o-a1", "o-u2", "o-a2"], set()),
        ("tree", ["t-u1b", "t-a1b", "t-u2", "t-a2"], {"t-u1", "t-a1", "t-a1x"}),
        ("errors", ["e-u1", "e-a1", "e-u2"], set()),
        ("cycle", ["c-u1", "c-a1"], set()),
        ("senders", ["s-u1", "s-a1"], set()),
        ("odd", ["x-u1", None], set()),
    ],
)
def test_the_branch_in_view_is_read(traits: Any, title: str, branch: list[str], left_behind: set[str]) -> None:
    session = traits[0][title]
    assert ids(session) == branch
    assert [message.parent_id for message in session.messages] == [None, *branch[:-1]]
    assert session.left_behind == left_behind


def test_only_blocks_of_text_are_words_and_reasoning_is_cut_from_replies_alone(traits: Any) -> None:
    assert texts(traits[0]["blocks"]) == [
        "Think hard.",
        "First.\nThen.",
        "Again.",
        "Done.",
        ":::thinking about dinner",
        "Soup.",
    ]


def test_replies_that_were_stopped_are_partial(traits: Any) -> None:
    assert [message.is_partial for message in traits[0]["partial"].messages] == [False, True, False, True]


def test_nothing_unseen_is_in_any_text(traits: Any) -> None:
    sessions, problems = traits
    said = [text for session in sessions.values() for text in texts(session)]
    assert not any(word in text for text in said for word in ("UNSEEN", "Left:"))
    assert "UNSEEN" not in repr(problems.shown)


def test_a_session_begins_with_its_first_message(traits: Any) -> None:
    assert traits[0]["branches"].started_at == datetime(2025, 4, 1, 8, 1, 0, 14000, tzinfo=UTC)
    assert traits[0]["branches"].session_id == "libre-branches"


def test_what_is_left_out_or_doubtful_is_counted_and_named(traits: Any) -> None:
    _, problems = traits
    assert {problem.kind: problem.where for problem in problems.shown} == {
        "unknown_role": "message 3 of conversation libre-senders",
        "cycle": "conversation libre-cycle",
        "broken_message": "message 1 of conversation libre-odd",
        "repeated_message": "message 3 of conversation libre-odd",
        "text_replaced": "message x-u1 of conversation libre-odd",
        "empty_conversation": "conversation libre-empty",
        "broken_conversation": "conversation 11",
    }
    assert set(problems.counts.values()) == {1}


def test_a_list_without_branches_follows_its_links_or_else_its_order(read_text: Callable[..., Reading]) -> None:
    def message(identifier: str, parent: str | None) -> dict[str, Any]:
        return {
            "messageId": identifier,
            "parentMessageId": parent,
            "isCreatedByUser": identifier[0] == "u",
            "text": "x",
        }

    mixed = [message("a1", "u1"), message("u2", "a1"), message("u1", None)]
    torn = [message("u1", None), message("a1", "u1"), message("a1b", "u1")]
    for messages, branch in ((mixed, ["u1", "a1", "u2"]), (torn, ["u1", "a1", "a1b"])):
        sessions, _ = read_text({"conversationId": "c", "branches": False, "messages": messages})
        assert ids(sessions[0]) == branch
        assert sessions[0].left_behind == frozenset()


@pytest.mark.parametrize("separators", [(",", ":"), (",\n", ":")], ids=["one line", "many lines"])
def test_a_tree_is_read_however_deeply_it_is_nested(read_text: Callable[..., Reading], separators: Any) -> None:
    depth = 5_000
    opening, closing = "", ""
    for number in range(depth):
        message = {"messageId": f"m{number}", "isCreatedByUser": number % 2 == 0, "text": f"turn {number}"}
        opening += json.dumps(message, separators=separators)[:-1] + ', "children": ['
        closing += "]}"
    sessions, problems = read_text(
        f'{{"conversationId": "deep", "recursive": true, {separators[0][1:]}"messagesTree": [{opening}{closing}]}}'
    )
    assert ids(sessions[0]) == [f"m{number}" for number in range(depth)]
    assert problems.counts == {}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"conversationId": "c"},
        {"conversationId": "c", "messages": [{"role": "user", "content": "OpenAI"}]},
        {"messagesTree": []},
        {"conversation_id": "c", "conversation": []},
    ],
)
def test_other_conversations_are_not_recognised(value: object) -> None:
    assert not recognises(value)
