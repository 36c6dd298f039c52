from collections.abc import Callable
from typing import Any

import pytest

from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


def sharegpt(*texts: str) -> dict[str, Any]:
    return {"id": "same", "conversations": [{"from": "human", "value": text} for text in texts]}


def openai(*texts: str) -> dict[str, Any]:
    return {"id": "same", "messages": [{"role": "user", "content": text} for text in texts]}


def lmsys(*texts: str) -> dict[str, Any]:
    return {"conversation_id": "same", "conversation": [{"role": "user", "content": text} for text in texts]}


@pytest.mark.parametrize("row", [sharegpt, openai, lmsys])
def test_an_id_that_comes_again_with_other_text_is_reported_by_its_place(
    read_text: Callable[..., Reading], row: Callable[..., dict[str, Any]]
) -> None:
    sessions, problems = read_text([row("SECRET one"), row("SECRET two")])
    assert [message.content for session in sessions for message in session.messages] == ["SECRET one", "SECRET two"]
    assert problems.counts == {"repeated_conversation": 1}
    assert problems.shown[0].where == "conversation same (conversation 2)"
    assert "SECRET" not in repr(problems.shown)


@pytest.mark.parametrize("row", [sharegpt, openai, lmsys])
def test_a_conversation_that_comes_again_and_went_on_is_none_to_report(
    read_text: Callable[..., Reading], row: Callable[..., dict[str, Any]]
) -> None:
    _, problems = read_text([row("one"), row("one", "two"), row("one", "two"), row("one")])
    assert problems.counts == {}


def chatgpt(view: str, text: str = "Hello.") -> dict[str, Any]:
    def node(key: str, parent: str | None, role: str, said: str) -> dict[str, Any]:
        message = {"id": key, "author": {"role": role}, "content": {"content_type": "text", "parts": [said]}}
        return {"id": key, "parent": parent, "children": [], "message": message}

    nodes = [node("u1", None, "user", "Hi."), node("a1", "u1", "assistant", text), node("a2", "u1", "assistant", "Yo.")]
    return {"id": "same", "current_node": view, "mapping": {each["id"]: each for each in nodes}}


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        ([chatgpt("a1"), chatgpt("a2")], 1),
        ([chatgpt("a1"), chatgpt("a1", "Edited.")], 1),
        ([chatgpt("a1"), chatgpt("a1")], 0),
        ([openai("one", "two", "three"), openai("two", "three", "four")], 0),
    ],
)
def test_a_conversation_whose_view_or_text_differs_is_reported(
    rows: list[dict[str, Any]], reported: int, read_text: Callable[..., Reading]
) -> None:
    _, problems = read_text(rows)
    assert problems.counts.get("repeated_conversation", 0) == reported


def turn(identifier: str, name: str, role: str, text: str) -> dict[str, str]:
    return {name: identifier, "role": role, "content": text}


QUESTION = {"role": "user", "content": "Q?"}
NODE = {"author": {"role": "user"}, "content": {"parts": ["Q?"]}, "id": "1"}
OF_CLAW = {"type": "message", "id": "1", "parentId": None, "message": QUESTION}

TWICE = {
    "openai-messages": {"messages": [turn("1", "id", "user", "Q?"), turn("1", "id", "assistant", "A.")]},
    "openai-messages, the same": {"messages": [turn("1", "id", "user", "Q?"), turn("1", "id", "user", "Q?")]},
    "wildchat": {"conversation": [turn("1", "turn_identifier", "user", text) for text in ("Q?", "R?", "S?")]},
    "claude": {"chat_messages": [{"uuid": "1", "sender": "human", "text": "Q?"}] * 2},
    "librechat": {"conversationId": "s", "messages": [{"messageId": "1", "isCreatedByUser": True, "text": "Q?"}] * 2},
    "openwebui": {"chat": {"messages": [{"id": "1", **QUESTION}] * 2}},
    "chatgpt": {"mapping": {"a": {"message": NODE}, "b": {"parent": "a", "message": NODE}}, "current_node": "b"},
    "openclaw": [OF_CLAW, OF_CLAW],
}


@pytest.mark.parametrize("conversation", TWICE.values(), ids=TWICE)
def test_a_message_id_that_stands_twice_in_a_conversation_is_reported(
    conversation: Any, read_text: Callable[..., Reading]
) -> None:
    _, problems = read_text(conversation)
    assert problems.counts == {"repeated_message": 1}


def test_a_turn_of_a_question_and_its_reply_may_have_one_identifier(read_text: Callable[..., Reading]) -> None:
    sides = [turn("1", "turn_identifier", role, "Tea.") for role in ("user", "assistant")]
    _, problems = read_text({"conversation": sides})
    assert problems.counts == {}
