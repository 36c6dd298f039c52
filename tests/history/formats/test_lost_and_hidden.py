"""What can't be read, or isn't shown, neither draws the view to itself nor lends its reply to another question."""

import json
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.history.formats.registry import read_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import ParsedSession, Problems


def read(folder: Path, value: Any) -> tuple[ParsedSession, Problems]:
    path = folder / "export.json"
    path.write_text(json.dumps(value))
    problems = Problems()
    with open_export(path) as export:
        (session,) = read_sessions(export, problems)
    return session, problems


def said(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages]


def node(key: str, parent: str | None, role: str, text: Any, moment: float) -> dict[str, Any]:
    content = text if isinstance(text, str) else {"content_type": "text", "parts": text}
    message = {"id": key, "author": {"role": role}, "create_time": 1.7e9 + moment, "content": content}
    return {"id": key, "parent": parent, "message": message}


def chatgpt(*nodes: dict[str, Any], current: str | None = None) -> list[dict[str, Any]]:
    root = {"id": "r", "parent": None, "message": None}
    return [{"id": "c", "current_node": current, "mapping": {each["id"]: each for each in (root, *nodes)}}]


@pytest.mark.parametrize(
    "newest", [node("a2", "u", "assistant", [""], 9), node("x", "r", "system", ["hidden"], 9)], ids=["empty", "system"]
)
def test_without_a_node_in_view_the_newest_one_that_shows_anything_is_taken(
    tmp_path: Path, newest: dict[str, Any]
) -> None:
    session, _ = read(
        tmp_path, chatgpt(node("u", "r", "user", ["q"], 0), node("a", "u", "assistant", ["ans"], 1), newest)
    )
    assert said(session) == ["q", "ans"]
    assert "a" not in session.left_behind


def test_what_hangs_behind_a_gap_in_the_branch_follows_what_stands_before_it_and_is_reported(tmp_path: Path) -> None:
    session, problems = read(
        tmp_path,
        chatgpt(
            node("u", "r", "user", ["q"], 0),
            node("a", "u", "assistant", ["ans"], 1),
            node("u2", "lost", "user", ["q2"], 2),
            node("a2", "u2", "assistant", ["ans2"], 3),
            current="a2",
        ),
    )
    assert said(session) == ["q", "ans", "q2", "ans2"]
    assert session.left_behind == frozenset()
    assert not session.is_whole
    assert problems.counts == {"parent_missing": 1}


def test_content_that_is_plain_text_is_text(tmp_path: Path) -> None:
    session, _ = read(tmp_path, chatgpt(node("u", "r", "user", "plain", 0), current="u"))
    assert said(session) == ["plain"]


@pytest.mark.parametrize("lost", [None, {"role": "alien", "content": "q2"}], ids=["broken", "unknown"])
@pytest.mark.parametrize(
    ("holder", "speaker", "words", "names"),
    [
        ("messages", "role", "content", ("user", "assistant")),
        ("conversations", "from", "value", ("human", "gpt")),
        ("conversation", "role", "content", ("user", "assistant")),
    ],
    ids=["openai", "sharegpt", "dataset rows"],
)
def test_a_reply_to_a_lost_question_is_no_reply_to_the_one_before(
    tmp_path: Path, lost: Any, holder: str, speaker: str, words: str, names: tuple[str, str]
) -> None:
    def turn(role: int, text: str) -> dict[str, str]:
        return {speaker: names[role], words: text}

    turns = [turn(0, "q1"), turn(1, "a1"), lost, turn(1, "a2"), turn(1, "a2b"), turn(0, "q3"), turn(1, "a3")]
    row = {"id": "x", "conversation_id": "x", "model": "m", "turn": 3, "language": "English", holder: turns}
    session, problems = read(tmp_path, [row])
    assert said(session) == ["q1", "a1", "q3", "a3"]
    assert problems.counts["lost_question"] == 2


def claude(*messages: Any) -> Any:
    return [{"uuid": "c", "chat_messages": [m and {"sender": m[1], "text": m[2]} | m[3] for m in messages]}]


def linked_claude(*messages: Any) -> Any:
    told = [m and {"uuid": m[0], "sender": m[1], "text": m[2]} | m[3] for m in messages]
    for before, message in zip(messages, told[1:], strict=False):
        if message:
            message["parent_message_uuid"] = before[0] if before else "lost"
    return [{"uuid": "c", "chat_messages": told}]


def librechat(*messages: Any) -> Any:
    told = [m and {"isCreatedByUser": IS_USERS.get(m[1]), "text": m[2]} | m[3] for m in messages]
    return {"conversationId": "c", "branches": False, "messages": told}


def linked_librechat(*messages: Any) -> Any:
    told = [m and {"messageId": m[0], "isCreatedByUser": IS_USERS.get(m[1]), "text": m[2]} | m[3] for m in messages]
    for before, message in zip((None, *messages), told, strict=False):
        if message:
            message["parentMessageId"] = before[0] if before else None if message is told[0] else "lost"
    return {"conversationId": "c", "branches": False, "messages": told}


def openwebui(*messages: Any) -> Any:
    told = {}
    before = None
    for number, m in enumerate(messages):
        key = m[0] if m else f"x{number}"
        told[key] = m and {"parentId": before, "role": m[1], "content": m[2]} | m[3]
        before = key
    return [{"id": "c", "chat": {"history": {"currentId": before, "messages": told}}}]


def openwebui_list(*messages: Any) -> Any:
    return [{"id": "c", "chat": {"messages": [m and {"role": m[1], "content": m[2]} | m[3] for m in messages]}}]


def chatgpt_chain(*messages: Any) -> Any:
    told: dict[str, Any] = {}
    before = None
    for number, m in enumerate(messages):
        key = m[0] if m else f"x{number}"
        told[key] = m and node(key, before, m[1], [m[2]], number)
        if before:
            (told[before] or {})["children"] = [key]
        if m:
            told[key]["message"] |= m[3]
        before = key
    return [{"id": "c", "current_node": before, "mapping": told}]


IS_USERS = {"human": True, "user": True, "assistant": False}
TREES = [claude, linked_claude, librechat, linked_librechat, openwebui, openwebui_list, chatgpt_chain]


@pytest.mark.parametrize("lost", [None, ("u2", "alien", "UNSEEN", {})], ids=["broken", "unknown"])
@pytest.mark.parametrize("write", TREES)
def test_in_a_tree_a_reply_to_a_lost_question_is_no_reply_to_the_one_before(
    tmp_path: Path, write: Any, lost: Any
) -> None:
    user = "human" if "claude" in write.__name__ else "user"
    session, problems = read(
        tmp_path,
        write(
            ("u1", user, "q1", {}),
            ("a1", "assistant", "a1", {}),
            lost,
            ("a2", "assistant", "a2", {}),
            ("u3", user, "q3", {}),
            ("a3", "assistant", "a3", {}),
        ),
    )
    assert said(session) == ["q1", "a1", "q3", "a3"]
    assert session.left_behind == frozenset()
    assert problems.counts["lost_question"] == 1


@pytest.mark.parametrize("write", [linked_claude, linked_librechat, openwebui])
def test_a_reply_that_names_a_lost_question_is_no_reply_to_one_that_got_none(tmp_path: Path, write: Any) -> None:
    user = "human" if "claude" in write.__name__ else "user"
    session, problems = read(
        tmp_path, write(("u1", user, "q1", {}), None, ("a2", "assistant", "a2", {}), ("u3", user, "q3", {}))
    )
    assert said(session) == ["q1", "q3"]
    assert problems.counts["lost_question"] == 1


@pytest.mark.parametrize("write", [librechat, linked_librechat])
def test_a_question_that_failed_takes_its_reply_with_it(tmp_path: Path, write: Any) -> None:
    session, problems = read(
        tmp_path,
        write(("u1", "user", "q1", {}), ("u2", "user", "UNSEEN", {"error": True}), ("a2", "assistant", "a2", {})),
    )
    assert said(session) == ["q1"]
    assert problems.counts == {"lost_question": 1}


def test_a_question_without_content_takes_its_reply_with_it(tmp_path: Path) -> None:
    session, problems = read(
        tmp_path,
        chatgpt_chain(("u1", "user", "q1", {}), ("u2", "user", "", {"content": None}), ("a2", "assistant", "a2", {})),
    )
    assert said(session) == ["q1"]
    assert problems.counts == {"broken_question": 1, "lost_question": 1}


@pytest.mark.parametrize(
    "hidden",
    [
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"metadata": {"is_user_system_message": True}},
        {"weight": 0},
        {"content": {"content_type": "user_editable_context"}},
    ],
)
def test_a_hidden_question_asks_nothing_and_the_reply_before_it_goes_on(tmp_path: Path, hidden: dict[str, Any]) -> None:
    session, problems = read(
        tmp_path,
        chatgpt_chain(
            ("u1", "user", "q1", {}),
            ("a1", "assistant", "a1", {"end_turn": True}),
            ("u2", "user", "UNSEEN", hidden),
            ("a2", "assistant", "a2", {"end_turn": True}),
        ),
    )
    assert said(session) == ["q1", "a1", "a2"]
    assert problems.counts == {}


def test_a_reply_behind_a_gap_is_nobodys(tmp_path: Path) -> None:
    session, problems = read(
        tmp_path,
        chatgpt(
            node("u", "r", "user", ["q"], 0),
            node("a", "u", "assistant", ["ans"], 1),
            node("a2", "lost", "assistant", ["ans2"], 2),
            node("u3", "a2", "user", ["q3"], 3),
            current="u3",
        ),
    )
    assert said(session) == ["q", "ans", "q3"]
    assert session.left_behind == frozenset()
    assert problems.counts == {"parent_missing": 1, "lost_question": 1}


def test_behind_a_gap_no_time_runs_backwards_and_no_other_branch_leaves(tmp_path: Path) -> None:
    session, problems = read(
        tmp_path,
        chatgpt(
            node("late", "r", "user", ["written later"], 9),
            node("u", "r", "user", ["q"], 0),
            node("old", "u", "assistant", ["first try"], 1),
            node("a", "u", "assistant", ["ans"], 2),
            node("u2", "lost", "user", ["q2"], 3),
            node("a2", "u2", "assistant", ["tried"], 4),
            node("b2", "u2", "assistant", ["ans2"], 5),
            node("u3", "lost too", "user", ["q3"], 6),
            current="u3",
        ),
    )
    assert said(session) == ["q", "ans", "q2", "ans2", "q3"]
    assert session.left_behind == frozenset()
    assert problems.counts == {"parent_missing": 2}


def test_nodes_that_all_hang_in_the_air_are_read_in_bounded_time(tmp_path: Path) -> None:
    nodes = [node(f"u{number}", f"lost{number}", "user", ["q"], number) for number in range(2000)]
    session, problems = read(tmp_path, chatgpt(*nodes, current="u1999"))
    assert len(session.messages) == 21
    assert problems.counts == {"parent_missing": 20}


def test_an_id_of_the_request_drops_no_reply(tmp_path: Path) -> None:
    turns = [
        {"id": 1, "role": "user", "content": "q1"},
        {"id": 1, "role": "assistant", "content": "a1"},
        {"id": 2, "role": "user", "content": "q2"},
        {"id": 2, "role": "assistant", "content": "a2"},
    ]
    session, _ = read(tmp_path, [{"messages": turns}])
    assert said(session) == ["q1", "a1", "q2", "a2"]


@pytest.mark.parametrize(
    "part", [{"type": "text", "text": None, "value": "q1"}, {"type": None, "text": "q1"}], ids=["text", "type"]
)
def test_a_part_with_null_keys_keeps_its_text(tmp_path: Path, part: dict[str, Any]) -> None:
    session, _ = read(tmp_path, [{"messages": [{"role": "User", "content": [part]}]}])
    assert said(session) == ["q1"]
