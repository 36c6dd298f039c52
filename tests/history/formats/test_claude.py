from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.claude import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> tuple[dict[str | None, ParsedSession], Problems]:
    """The sessions of the fixture, by title, and what was reported."""
    sessions, problems = read_file(exports / "claude_traits.json")
    return {session.title: session for session in sessions}, problems


def ids(session: ParsedSession) -> list[str | None]:
    return [message.message_id for message in session.messages]


def texts(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages]


@pytest.mark.parametrize(
    ("title", "branch", "left_behind"),
    [
        ("branches", ["b-u1b", "b-a1b"], {"b-u1", "b-a1", "b-a1x"}),
        ("in view", ["v-u1", "v-a1"], {"v-a2"}),
        ("lost view", ["l-u1", "l-a2"], {"l-a1"}),
        ("old", ["o-u1", "o-a1", "o-u2", "o-a2"], set()),
        ("failed retry", ["r-u1", "r-a1"], {"r-a2"}),
        ("no links", ["n-u1", "n-a1", "n-u2", "n-a2"], set()),
        ("lost message", ["m-u1", "m-a1", "m-u2", "m-a2"], set()),
        ("cycle", ["y-u1", "y-a1"], set()),
        ("half \ufffd", ["x-u1", None], set()),
    ],
)
def test_the_branch_in_view_is_read(traits: Any, title: str, branch: list[str], left_behind: set[str]) -> None:
    session = traits[0][title]
    assert ids(session) == branch
    assert [message.parent_id for message in session.messages] == [None, *branch[:-1]]
    assert session.left_behind == left_behind


def test_only_blocks_of_text_are_words_and_the_flat_text_only_where_there_are_none(traits: Any) -> None:
    assert texts(traits[0]["blocks"]) == [
        "Two parts:\nwhich is older?",
        "I look it up.\nThe left one.",
        "Draw it.",
        "Drawn.",
    ]
    assert texts(traits[0]["old"]) == ["Old question?", "Old answer.", "And then?", "Then nothing."]


def test_text_of_attachments_belongs_to_the_message_and_names_of_files_do_not(traits: Any) -> None:
    session = traits[0]["attachments"]
    assert texts(session) == [
        "Pasted: four eggs.",
        "An omelette.",
        "Compare:\n\nFirst list.\n\nThird list.",
        "The same.",
        "",
        "A heron.",
        "Sure?",
    ]


def test_a_question_with_nothing_in_it_is_kept_only_for_its_reply(read_text: Callable[..., Reading]) -> None:
    def message(uuid: str, sender: str, text: str = "") -> dict[str, Any]:
        return {"uuid": uuid, "sender": sender, "text": text, "content": []}

    void, other = message("u1", "human"), message("u2", "human", "Anyone?")
    reply = message("a1", "assistant", "Ask me anything.")
    sessions, _ = read_text([{"uuid": "s", "chat_messages": [void, reply, other]}])
    assert ids(sessions[0]) == ["u1", "a1", "u2"]
    sessions, _ = read_text([{"uuid": "s", "chat_messages": [void, other, reply]}])
    assert ids(sessions[0]) == ["u2", "a1"]


def test_nothing_unseen_is_in_any_text(traits: Any) -> None:
    sessions, problems = traits
    said = [text for session in sessions.values() for text in texts(session)]
    assert not any(word in text for text in said for word in ("UNSEEN", "Left:", "not supported", "photo.jpg"))
    assert "UNSEEN" not in repr(problems.shown)


def test_a_reply_that_was_stopped_is_partial(traits: Any) -> None:
    assert [message.is_partial for message in traits[0]["cut reply"].messages] == [False, True]


def test_times_and_ids_come_from_the_export(traits: Any) -> None:
    session = traits[0]["old"]
    assert session.session_id == "claude-old"
    assert session.started_at == datetime(2025, 4, 1, 8, tzinfo=UTC)
    assert [message.sent_at for message in session.messages] == [
        datetime(2023, 8, 1, 8, 0, 0, 123456, tzinfo=UTC),
        datetime(2023, 8, 1, 8, 0, 5, tzinfo=UTC),
        None,
        None,
    ]


def test_what_is_left_out_or_doubtful_is_counted_and_named(traits: Any) -> None:
    _, problems = traits
    assert problems.counts == {
        "current_node_missing": 1,
        "parent_missing": 1,
        "cycle": 1,
        "broken_message": 1,
        "repeated_message": 1,
        "unknown_role": 1,
        "text_replaced": 2,
        "empty_conversation": 1,
        "broken_conversation": 2,
    }
    assert {problem.kind: problem.where for problem in problems.shown} == {
        "current_node_missing": "conversation claude-lost view",
        "parent_missing": "conversation claude-lost message",
        "cycle": "conversation claude-cycle",
        "broken_message": "message 1 of conversation claude-odd",
        "repeated_message": "message 3 of conversation claude-odd",
        "unknown_role": "message 5 of conversation claude-odd",
        "text_replaced": "title of conversation claude-odd",
        "empty_conversation": "conversation claude-shell",
        "broken_conversation": "conversation 15",
    }


def test_a_conversation_saved_alone_reads_like_one_of_a_list(read_text: Callable[..., Reading]) -> None:
    message = {"uuid": "u1", "sender": "human", "content": [{"type": "text", "text": "Alone?"}]}
    conversation = {"uuid": "s", "name": "", "chat_messages": [message], "current_leaf_message_uuid": "u1"}
    assert read_text(conversation)[0] == read_text([conversation])[0]
    assert read_text(conversation)[0][0].title is None


def test_a_reply_to_a_question_that_is_not_there_passes_for_no_other(read_text: Callable[..., Reading]) -> None:
    def message(uuid: str, sender: str, parent: str) -> dict[str, Any]:
        return {"uuid": uuid, "sender": sender, "text": uuid, "parent_message_uuid": parent}

    written = [message("u1", "human", ""), message("a1", "assistant", "u1"), message("a2", "assistant", "gone")]
    sessions, problems = read_text([{"uuid": "s", "chat_messages": [*written, message("u3", "human", "a2")]}])
    assert ids(sessions[0]) == ["u1", "a1", "u3"]
    assert sessions[0].left_behind == frozenset()
    assert problems.counts == {"parent_missing": 1, "lost_question": 1}


@pytest.mark.parametrize("value", [None, [], {}, {"chat_messages": None}, {"messages": []}, {"mapping": {}}])
def test_other_conversations_are_not_recognised(value: object) -> None:
    assert not recognises(value)
