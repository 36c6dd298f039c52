from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.openai_messages import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> Reading:
    """The sessions of the fixture and what was reported."""
    return read_file(exports / "messages_traits.jsonl")


def test_only_users_and_assistants_speak(traits: Reading) -> None:
    session = traits[0][0]
    assert [(message.message_id, message.role, message.content) for message in session.messages] == [
        ("m1", "user", "Is the lido open?"),
        ("m3", "assistant", "Until six."),
    ]
    assert session.messages[1].parent_id == "m1"
    assert not any("UNSEEN" in message.content for session in traits[0] for message in session.messages)


def test_ids_title_and_times_are_taken_where_they_are(traits: Reading) -> None:
    first, second, third = traits[0]
    assert (first.session_id, second.session_id, third.session_id) == ("r1", "r2", None)
    assert first.title == "Roles"
    assert first.started_at == datetime(2025, 3, 1, 9, tzinfo=UTC)
    assert [message.sent_at for message in first.messages] == [
        datetime(2025, 3, 1, 9, tzinfo=UTC),
        datetime(2025, 3, 1, 9, 0, 5, tzinfo=UTC),
    ]
    assert [message.message_id for message in third.messages] == [None, None]
    assert third.started_at is None


def test_parts_of_every_shape_become_text_and_an_image_alone_an_empty_question(traits: Reading) -> None:
    assert [message.content for message in traits[0][1].messages] == [
        "Two lanes:\nwhich is faster?",
        "The left one.",
        "",
        "A towel.",
    ]


def test_what_is_left_out_is_counted_and_named(traits: Reading) -> None:
    _, problems = traits
    assert problems.counts == {
        "unknown_role": 1,
        "broken_message": 1,
        "broken_line": 1,
        "empty_conversation": 1,
        "broken_conversation": 1,
    }
    assert {problem.kind: problem.where for problem in problems.shown} == {
        "unknown_role": "message 8 of line 1",
        "broken_message": "message 9 of line 1",
        "broken_line": "line 4",
        "empty_conversation": "line 6",
        "broken_conversation": "line 7",
    }
    assert "UNSEEN" not in repr(problems.shown)


def test_a_json_list_and_a_single_object_read_like_lines(read_text: Callable[..., Reading]) -> None:
    row = {"messages": [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "One."}]}
    from_line, _ = read_text(row)
    from_list, _ = read_text([row])
    from_key, _ = read_text({"version": 1, "conversations": [row]})
    assert from_line == from_list == from_key
    assert len(from_line) == 1


def test_a_message_id_that_stands_twice_is_taken_once(read_text: Callable[..., Reading]) -> None:
    turn = {"id": "same", "role": "user", "content": "Twice?"}
    sessions, problems = read_text({"messages": [turn, turn]})
    assert len(sessions[0].messages) == 1
    assert problems.counts == {"repeated_message": 1}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"messages": "text"},
        {"messages": [{"sender": "User", "text": "LibreChat"}]},
        {"conversations": [{"from": "human", "value": "ShareGPT"}]},
        {"mapping": {}},
    ],
)
def test_other_conversations_are_not_recognised(value: Any) -> None:
    assert not recognises(value)
