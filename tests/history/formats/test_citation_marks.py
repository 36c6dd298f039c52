import json
from collections.abc import Callable
from typing import Any

import pytest

from orbit_pipelines.history.formats.citation_marks import without_citation_marks
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


def mark(*fields: str) -> str:
    return "\ue200" + "\ue202".join(fields) + "\ue201"


CITED = mark("cite", "turn0search1")
CITY = mark("entity", '["city","Guwahati","Assam"]')
PICTURES = mark("image_group", '{"query": ["tea"]}')


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (f"Tea grows in Assam. {CITED}\n\nAnd in Darjeeling.{CITED}", "Tea grows in Assam.\n\nAnd in Darjeeling."),
        (f"Tea {CITED} grows.", "Tea grows."),
        (f"Tea{mark('cite', 'turn0search1', 'turn12news0')}.", "Tea."),
        (f"By the file {mark('filecite', 'turn0file0', 'L3-L9')}", "By the file"),
        (f"{PICTURES}\n\nTea.\n\n{mark('navlist', 'Read on', 'turn0news1')}", "Tea."),
        ("\ue203Tea grows.\ue204 \ue202turn0search0 Slowly.\ue206", "Tea grows. Slowly."),
        (f"In {CITY}.", "In Guwahati."),
        (f"See {mark('url', 'the board', 'turn0search1')}.", "See the board."),
        (f"See {mark('url', 'the board', 'https://tea.example')}.", "See the board (https://tea.example)."),
        ("Cut short \ue200cite\ue202turn0sea", "Cut short"),
        ("Cut short \ue200", "Cut short"),
        (f"Cut \ue200cite\ue202turn0search1 and on {CITED}", "Cut and on"),
        (CITED, ""),
        (" " * 50_000 + "\ue206.", " " * 50_000 + "."),
        ("  Nothing to cut \ue001.\n", "  Nothing to cut \ue001.\n"),
    ],
)
def test_a_reply_is_what_its_reader_sees(reply: str, shown: str) -> None:
    problems = Problems()
    assert without_citation_marks(reply, "here", problems) == shown
    assert problems.counts == {}


def test_a_mark_of_an_unknown_kind_is_reported_if_it_has_words() -> None:
    problems = Problems()
    assert without_citation_marks(f"Tea {mark('new', 'turn0search0')}.", "here", problems) == "Tea."
    assert problems.counts == {}
    assert without_citation_marks(f"Tea {mark('new', 'PRIVATE words')}.", "here", problems) == "Tea."
    assert problems.counts == {"unknown_content": 1}
    assert "PRIVATE" not in repr(problems.shown)


def chatgpt(question: str, reply: str) -> dict[str, Any]:
    said = {
        "u": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [question]}},
        "a": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [reply]}},
    }
    mapping = {"u": {"parent": None, "message": said["u"]}, "a": {"parent": "u", "message": said["a"]}}
    return {"mapping": mapping, "current_node": "a"}


def librechat(question: str, reply: str) -> dict[str, Any]:
    asked = {"messageId": "u", "parentMessageId": None, "isCreatedByUser": True, "text": question}
    answer = {"messageId": "a", "parentMessageId": "u", "isCreatedByUser": False, "text": reply}
    return {"conversationId": "s", "messages": [asked, answer]}


@pytest.mark.parametrize("write", [chatgpt, librechat])
def test_marks_are_cut_from_replies_and_not_from_what_the_user_wrote(
    write: Callable[[str, str], dict[str, Any]], read_text: Callable[..., Reading]
) -> None:
    [session], problems = read_text(json.dumps(write(f"What is {CITED}?", f"A source. {CITED}")))
    assert [message.content for message in session.messages] == [f"What is {CITED}?", "A source."]
    assert problems.counts == {}


@pytest.mark.parametrize("write", [chatgpt, librechat])
def test_a_reply_of_marks_alone_is_none(
    write: Callable[[str, str], dict[str, Any]], read_text: Callable[..., Reading]
) -> None:
    [session], _ = read_text(json.dumps(write("Sources?", CITED)))
    assert [message.role for message in session.messages] == ["user"]
