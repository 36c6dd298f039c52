from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.openwebui import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> tuple[dict[str | None, ParsedSession], Problems]:
    """The sessions of the fixture, by title, and what was reported."""
    sessions, problems = read_file(exports / "openwebui_traits.json")
    return {session.title: session for session in sessions}, problems


def ids(session: ParsedSession) -> list[str | None]:
    return [message.message_id for message in session.messages]


def texts(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages]


@pytest.mark.parametrize(
    ("title", "branch", "left_behind"),
    [
        ("branches", ["b-u1", "b-a1", "b-u2", "b-a3"], {"b-a2"}),
        ("no view", ["v-u", "v-a1"], {"v-a2"}),
        ("dangling", ["d-u", "d-a", "d-u2", "d-a2"], set()),
        ("cycle", ["c-u", "c-a"], set()),
        ("flat", ["f-u", "f-a"], set()),
        ("bare", ["h-u", "h-a"], set()),
        ("odd", ["o-u"], set()),
    ],
)
def test_the_branch_in_view_is_read(traits: Any, title: str, branch: list[str], left_behind: set[str]) -> None:
    session = traits[0][title]
    assert ids(session) == branch
    assert [message.parent_id for message in session.messages] == [None, *branch[:-1]]
    assert session.left_behind == left_behind


def test_reasoning_and_results_of_tools_are_cut_from_replies_and_from_nothing_else(traits: Any) -> None:
    assert texts(traits[0]["markup"]) == [
        '<details type="reasoning">I wrote this myself.</details>',
        "Before.\n\n<details><summary>Mine</summary>shown</details> After.",
        "Nested?",
        "Yes.",
        "Still thinking?",
        "So far.",
        "Tagged?",
        "Tagged.",
    ]


def test_parts_and_output_items_become_text_and_an_image_alone_an_empty_question(traits: Any) -> None:
    assert texts(traits[0]["parts"]) == ["What is\nthis?", "A heron.", "", "Another."]


def test_a_reply_that_failed_without_words_is_none_and_one_with_words_is_partial(traits: Any) -> None:
    session = traits[0]["errors"]
    assert ids(session) == ["e-u", "e-a", "e-u2"]
    assert [message.is_partial for message in session.messages] == [False, True, False]
    assert traits[0]["markup"].messages[5].is_partial


def test_nothing_unseen_is_in_any_text(traits: Any) -> None:
    sessions, problems = traits
    said = [text for session in sessions.values() for text in (*texts(session), session.title or "")]
    assert not any(word in text for text in said for word in ("UNSEEN", "Left:"))
    assert "UNSEEN" not in repr(problems.shown)


def test_times_come_in_seconds_and_in_milliseconds(traits: Any) -> None:
    session = traits[0]["markup"]
    assert [message.sent_at for message in session.messages[:2]] == [
        datetime(2025, 4, 1, 8, tzinfo=UTC),
        datetime(2025, 4, 1, 8, 0, 5, 123000, tzinfo=UTC),
    ]
    assert session.started_at == traits[0]["bare"].started_at == datetime(2025, 4, 1, 8, tzinfo=UTC)


def test_ids_are_the_chats_own_or_none(traits: Any) -> None:
    assert traits[0]["flat"].session_id == "web-flat"
    assert traits[0]["bare"].session_id is None


def test_what_is_left_out_or_doubtful_is_counted_and_named(traits: Any) -> None:
    _, problems = traits
    assert problems.counts == {
        "current_node_missing": 2,
        "parent_missing": 1,
        "cycle": 1,
        "empty_conversation": 1,
        "broken_conversation": 1,
        "broken_message": 1,
        "text_replaced": 1,
    }
    assert {problem.kind: problem.where for problem in problems.shown} == {
        "current_node_missing": "conversation web-odd",
        "parent_missing": "conversation web-dangling",
        "cycle": "conversation web-cycle",
        "empty_conversation": "conversation web-stubs",
        "broken_conversation": "conversation 11",
        "broken_message": "message 2 of conversation web-odd",
        "text_replaced": "message o-u of conversation web-odd",
    }


def test_many_opened_elements_are_cut_in_one_pass(read_text: Callable[..., Reading]) -> None:
    reply = "Kept." + '<details type="reasoning"' * 50_000 + "<details type=reasoning>" * 50_000
    messages = {
        "u": {"id": "u", "parentId": None, "role": "user", "content": "Deep?"},
        "a": {"id": "a", "parentId": "u", "role": "assistant", "content": reply},
    }
    sessions, _ = read_text([{"id": "s", "chat": {"history": {"currentId": "a", "messages": messages}}}])
    assert sessions[0].messages[1].content.startswith("Kept.")
    assert not sessions[0].messages[1].content.endswith(">")


HIDDEN = '<details type="reasoning" done="true">\n<summary>Thought</summary>\nUNSEEN ``` `\n</details>'


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("\n\n  Indented.\n", "\n\n  Indented.\n"),
        (f"\n{HIDDEN}\n\nKept.\n\n", "Kept.\n\n"),
        (f"\n  Kept.\n\n{HIDDEN}\n", "\n  Kept."),
        (f"One.\n{HIDDEN}\nTwo.\n", "One.\n\nTwo.\n"),
        (f"```html\n{HIDDEN}", f"```html\n{HIDDEN}"),
        (f"~~~~\n{HIDDEN}\n~~~\n{HIDDEN}\n~~~~\n{HIDDEN}", f"~~~~\n{HIDDEN}\n~~~\n{HIDDEN}\n~~~~"),
        ("Write `<details type='reasoning'>` there.\n", "Write `<details type='reasoning'>` there.\n"),
        (f"{HIDDEN}```\n<details type=tool_calls>\n", "```\n<details type=tool_calls>\n"),
        (f"Not ``` a fence.\n{HIDDEN}", "Not ``` a fence."),
        (HIDDEN + HIDDEN, ""),
    ],
)
def test_a_reply_is_kept_as_it_stands_around_what_is_cut_and_in_code(
    read_text: Callable[..., Reading], reply: str, text: str
) -> None:
    messages = {
        "u": {"id": "u", "parentId": None, "role": "user", "content": "Well?"},
        "a": {"id": "a", "parentId": "u", "role": "assistant", "content": reply},
    }
    (session,), _ = read_text([{"id": "s", "chat": {"history": {"currentId": "a", "messages": messages}}}])
    assert texts(session)[1:] == ([text] if text else [])


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"chat": None}, {"chat": {}}, {"history": {"messages": []}}, {"messages": [{"role": "user"}]}],
)
def test_other_conversations_are_not_recognised(value: object) -> None:
    assert not recognises(value)
