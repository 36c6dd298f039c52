from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.chatgpt import recognises
from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]


@pytest.fixture(scope="module")
def traits(read_file: Callable[..., Reading], exports: Path) -> tuple[dict[str | None, ParsedSession], Problems]:
    """The sessions of the fixture, by title, and what was reported."""
    sessions, problems = read_file(exports / "chatgpt_traits.json")
    return {session.title: session for session in sessions}, problems


def ids(session: ParsedSession) -> list[str | None]:
    return [message.message_id for message in session.messages]


def test_only_the_branch_in_view_is_read_in_the_order_of_its_links(traits: Any) -> None:
    session = traits[0]["branches"]
    assert ids(session) == ["b-u1", "b-a2", "b-u2-edited", "b-a3"]
    assert [message.parent_id for message in session.messages] == [None, "b-u1", "b-a2", "b-u2-edited"]
    assert session.left_behind == {"b-a1", "b-u2"}


def test_what_the_product_does_not_show_is_left_out_and_breaks_no_link(traits: Any) -> None:
    session = traits[0]["unseen"]
    assert ids(session) == ["n-u1", "n-a1", "n-u2", "n-a2"]
    assert [message.parent_id for message in session.messages] == [None, "n-u1", "n-a1", "n-u2"]
    assert session.left_behind == frozenset()


def test_nothing_unseen_is_in_any_text(traits: Any) -> None:
    sessions, problems = traits
    texts = [message.content for session in sessions.values() for message in session.messages]
    assert not any(word in text for text in texts for word in ("UNSEEN", "Left:", "file-service"))
    assert "UNSEEN" not in repr(problems.shown)


def test_parts_become_text_and_an_image_alone_an_empty_question(traits: Any) -> None:
    session = traits[0]["parts"]
    assert [message.content for message in session.messages] == [
        "Which mushroom is this?",
        "A parasol,\nI think.",
        "Can I eat it?",
        "Ask somebody who knows.",
        "",
        '{"edible": false}',
    ]
    assert session.messages[-1].parent_id == "p-u3"


def test_times_may_be_missing_and_never_order_anything(traits: Any) -> None:
    session = traits[0]["times"]
    assert [message.sent_at for message in session.messages] == [
        None,
        datetime(2024, 12, 24, 0, 26, 49, 250000, tzinfo=UTC),
        datetime(2024, 12, 24, 0, 26, 43, tzinfo=UTC),
        None,
    ]
    assert session.started_at == datetime(2024, 12, 24, 0, 26, 43, tzinfo=UTC)
    assert traits[0]["branches"].started_at == datetime(2024, 12, 24, 0, 26, 40, 500000, tzinfo=UTC)


def test_a_conversation_without_nodes_and_one_that_is_none_are_counted_and_named(traits: Any) -> None:
    sessions, problems = traits
    assert "shell" not in sessions
    assert problems.counts["broken_conversation"] == 2
    assert [problem.where for problem in problems.shown if problem.kind == "broken_conversation"] == [
        "conversation shell",
        "conversation 6",
    ]


def test_a_pointer_to_nowhere_gives_the_newest_leaf_and_says_so(traits: Any) -> None:
    sessions, problems = traits
    assert ids(sessions["dangling"]) == ["d-u1", "d-new"]
    assert sessions["dangling"].left_behind == {"d-old"}
    assert [problem.where for problem in problems.shown if problem.kind == "current_node_missing"] == [
        "conversation dangling"
    ]


def test_a_cycle_is_cut_where_it_closes_and_reported(traits: Any) -> None:
    sessions, problems = traits
    assert ids(sessions["cycle"]) == ["c-u", "c-a"]
    assert problems.counts["cycle"] == 1


def test_the_mark_not_to_remember_comes_with_the_session(traits: Any) -> None:
    assert {title for title, session in traits[0].items() if session.do_not_remember} == {"forget me"}


def test_interrupted_replies_are_partial(traits: Any) -> None:
    assert [message.is_partial for message in traits[0]["interrupted"].messages] == [False, True, False, True]
    assert not any(message.is_partial for message in traits[0]["unseen"].messages)


def test_replaced_text_is_reported_by_message_and_title(traits: Any) -> None:
    sessions, problems = traits
    session = sessions["cut \ufffd text"]
    assert [message.content for message in session.messages] == [
        "A nul \ufffd and a half \ufffd.",
        "Whole: \U0001f680 café cafe\u0301.",
    ]
    places = [problem.where for problem in problems.shown if problem.kind == "text_replaced"]
    assert len(places) == 2
    assert places[0].startswith("message x-u of conversation")
    assert places[1].startswith("title of conversation")


def test_ids_come_from_wherever_the_export_has_them(traits: Any) -> None:
    assert traits[0]["ids"].session_id == "ids-by-conversation"
    assert ids(traits[0]["ids"]) == ["o-u", "o-message"]
    assert traits[0]["nameless"].session_id is None


def test_a_kind_of_content_nobody_knows_leaves_an_empty_question_and_a_report(traits: Any) -> None:
    sessions, problems = traits
    assert [message.content for message in sessions["new kind"].messages] == ["", "I see it."]
    assert problems.counts["unknown_content"] == 1


def test_a_message_id_that_stands_twice_on_a_branch_is_taken_once(read_text: Callable[..., Reading]) -> None:
    def node(parent: str | None, role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"parent": parent, "message": {"id": "same", "author": {"role": role}, "content": content}}

    mapping = {"one": node(None, "user", "Once?"), "two": node("one", "assistant", "Twice.")}
    sessions, problems = read_text([{"id": "s", "current_node": "two", "mapping": mapping}])
    assert ids(sessions[0]) == ["same"]
    assert problems.counts == {"repeated_message": 1}


def test_a_branch_of_many_thousand_messages_is_no_deeper_than_any(read_text: Callable[..., Reading]) -> None:
    mapping = {
        str(number): {
            "parent": str(number - 1),
            "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["again"]}},
        }
        for number in range(20_000)
    }
    sessions, _ = read_text([{"id": "s", "current_node": "19999", "mapping": mapping}])
    assert len(sessions[0].messages) == 20_000


@pytest.mark.parametrize("value", [None, [], {}, {"mapping": None}, {"messages": []}, {"chat_messages": []}])
def test_other_conversations_are_not_recognised(value: object) -> None:
    assert not recognises(value)
