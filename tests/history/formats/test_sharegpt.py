from collections.abc import Callable
from typing import Any

import pytest

from orbit_pipelines.history.formats.sharegpt import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


def row(*turns: tuple[str, Any], **fields: Any) -> dict[str, Any]:
    return {"conversations": [{"from": speaker, "value": said} for speaker, said in turns], **fields}


def said(session: ParsedSession) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in session.messages]


@pytest.mark.parametrize(("user", "assistant"), [("human", "gpt"), ("user", "assistant"), ("Human", "chatgpt")])
def test_the_roles_have_many_names(user: str, assistant: str, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text([row((user, "Tea?"), (assistant, "Please."))])
    assert said(sessions[0]) == [("user", "Tea?"), ("assistant", "Please.")]
    assert problems.counts == {}


def test_only_users_and_assistants_speak_in_any_order(read_text: Callable[..., Reading]) -> None:
    turns = [
        ("gpt", "Welcome."),
        ("system", "UNSEEN"),
        ("human", "One?"),
        ("human", "Two?"),
        ("function_call", "UNSEEN"),
        ("observation", "UNSEEN"),
        ("gpt", "Both."),
        ("narrator", "UNSEEN"),
    ]
    sessions, problems = read_text([row(*turns, id="s1", system="UNSEEN", tools="UNSEEN")])
    assert sessions[0].session_id == "s1"
    assert said(sessions[0]) == [
        ("assistant", "Welcome."),
        ("user", "One?"),
        ("user", "Two?"),
        ("assistant", "Both."),
    ]
    assert problems.counts == {"unknown_role": 1}
    assert problems.shown[0].where == "turn 8 of conversation s1"


def test_a_reply_to_an_empty_question_is_reported_and_never_anothers(read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text([row(("human", "Hi"), ("gpt", "Hello."), ("human", " "), ("gpt", "Anybody?"))])
    assert said(sessions[0]) == [("user", "Hi"), ("assistant", "Hello."), ("user", " ")]
    assert problems.counts == {"reply_to_nothing": 1}


def test_an_object_a_list_and_lines_are_the_same(read_text: Callable[..., Reading]) -> None:
    import json

    one = row(("human", "Hi"), ("gpt", "Hello."))
    readings = [
        read_text(one),
        read_text([one]),
        read_text(json.dumps(one) + "\r\n"),
        read_text("\ufeff" + json.dumps(one)),
    ]
    assert all(reading[0] == readings[0][0] for reading in readings)
    assert readings[0][0][0].session_id is None


def test_what_is_broken_is_counted_and_the_rest_read(read_text: Callable[..., Reading]) -> None:
    rows = [
        row(("human", "Hi")),
        {"conversations": None},
        5,
        row(),
        {"conversations": [7, {"from": "gpt", "value": None}]},
    ]
    sessions, problems = read_text(rows)
    assert len(sessions) == 1
    assert problems.counts == {"broken_conversation": 2, "empty_conversation": 2, "broken_message": 1}


def test_turns_may_be_written_as_role_and_content(read_text: Callable[..., Reading]) -> None:
    sessions, _ = read_text([{"conversations": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}])
    assert said(sessions[0]) == [("user", "Hi")]


@pytest.mark.parametrize(
    "value", [None, [], {}, {"messages": []}, {"conversations": [{"mapping": {}}]}, {"conversations": {}}]
)
def test_other_conversations_are_not_recognised(value: Any) -> None:
    assert not recognises(value)
