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
