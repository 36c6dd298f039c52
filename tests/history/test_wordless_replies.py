"""Replies that a later file has without words, or only in part: what is stored of them stays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.importing import ImportResult
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store

HASH_KEY = b"k" * 32

Connection = psycopg.Connection[Any]
ImportText = Callable[[str], ImportResult]
Shown = Callable[..., str]


@pytest.fixture
def import_text(connection: Connection, store: Store, tmp_path: Path) -> ImportText:
    """Import a text as a file into ana's store, and commit."""

    def run(text: str) -> ImportResult:
        path = tmp_path / "export"
        path.write_text(text)
        result = import_file(connection, store, path, hash_key=HASH_KEY, problems=Problems())
        connection.commit()
        return result

    return run


ZEROS = "00000000-0000-0000-0000-000000000000"


def claude(reply: str, **fields: Any) -> dict[str, Any]:
    asked = {
        "uuid": "c1",
        "sender": "human",
        "text": "q1",
        "parent_message_uuid": ZEROS.replace("000-0000-", "000-4000-"),
    }
    blocks = [{"type": "text", "text": reply}] if reply else []
    answer = {"uuid": "c2", "sender": "assistant", "text": reply, "content": blocks, "parent_message_uuid": "c1"}
    return {"uuid": "s", "chat_messages": [asked, answer], **fields}


def claude_in_a_list(reply: str) -> dict[str, Any]:
    conversation = claude(reply)
    for message in conversation["chat_messages"]:
        del message["parent_message_uuid"]
    return conversation


def librechat(reply: str, **fields: Any) -> dict[str, Any]:
    asked = {"messageId": "q", "parentMessageId": ZEROS, "isCreatedByUser": True, "text": "q1"}
    answer = {
        "messageId": "a",
        "parentMessageId": "q",
        "isCreatedByUser": False,
        "text": reply,
        "unfinished": not reply,
    }
    return {"conversationId": "s", "branches": True, "messages": [asked, answer | fields]}


def librechat_nested(reply: str) -> dict[str, Any]:
    asked, answer = librechat(reply)["messages"]
    return {"conversationId": "s", "recursive": True, "messagesTree": [{**asked, "children": [answer]}]}


def openwebui(reply: str, **history: Any) -> dict[str, Any]:
    asked = {"id": "q", "parentId": None, "role": "user", "content": "q1"}
    answer = {"id": "a", "parentId": "q", "role": "assistant", "content": reply}
    return {"id": "s", "chat": {"history": {"messages": {"q": asked, "a": answer}, **history}}}


def chatgpt(reply: str, **fields: Any) -> dict[str, Any]:
    def node(key: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"id": key, "parent": parent, "message": {"id": key, "author": {"role": role}, "content": content}}

    mapping = {"q": node("q", None, "user", "q1"), "a": node("a", "q", "assistant", reply)}
    return {"id": "s", "mapping": mapping, **fields}


def openclaw(reply: str) -> str:
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-04-01T08:00:00Z", "cwd": "/"}
    asked = {"type": "message", "id": "q", "parentId": None, "message": {"role": "user", "content": "q1"}}
    answer = {"type": "message", "id": "a", "parentId": "q", "message": {"role": "assistant", "content": reply}}
    return "\n".join(map(json.dumps, (header, asked, answer)))


def turns(reply: str, name: str, **ids: str) -> dict[str, Any]:
    asked, answer = {"role": "user", "content": "q1"}, {"role": "assistant", "content": reply}
    if ids:
        asked |= {"id": "q"}
        answer |= {"id": "a"}
    return {"id": "s", "conversation_id": "s", name: [asked, answer]}


REPLIES: dict[str, Callable[[str], Any]] = {
    "claude": claude,
    "claude, with a pointer to the question": lambda reply: claude(
        reply, current_leaf_message_uuid=None if reply else "c1"
    ),
    "claude, without links": claude_in_a_list,
    "librechat": librechat,
    "librechat, without branches": lambda reply: {**librechat(reply), "branches": False},
    "librechat, nested": librechat_nested,
    "openwebui": lambda reply: openwebui(reply, currentId="a"),
    "openwebui, without a pointer": openwebui,
    "chatgpt": lambda reply: chatgpt(reply, current_node="a"),
    "chatgpt, without a pointer": chatgpt,
    "openclaw": openclaw,
    "openai-messages": lambda reply: turns(reply, "messages"),
    "openai-messages, with ids": lambda reply: turns(reply, "messages", ids="yes"),
    "sharegpt": lambda reply: turns(reply, "conversations"),
    "lmsys": lambda reply: turns(reply, "conversation"),
}


@pytest.mark.parametrize("write", REPLIES.values(), ids=REPLIES)
def test_a_reply_that_an_export_has_without_words_stays_as_it_was(
    write: Callable[[str], Any], import_text: ImportText, rows: Callable[[], dict[str, list[Any]]]
) -> None:
    def text(reply: str) -> str:
        written = write(reply)
        return written if isinstance(written, str) else json.dumps([written])

    assert import_text(text("A whole answer.")).messages_new == 2
    before = rows()
    for empty in ("", " \n"):
        assert not import_text(text(empty)).changed_anything
    assert rows() == before


def test_a_reply_without_words_beside_another_has_left_the_branch(import_text: ImportText, shown: Shown) -> None:
    import_text(json.dumps([claude("A whole answer.")]))
    newer = claude("")
    newer["chat_messages"].append(
        {"uuid": "c3", "sender": "assistant", "text": "Another.", "parent_message_uuid": "c1"}
    )
    import_text(json.dumps([newer]))
    assert shown() == "c1:0/0 c3>0 -c2>0"


def test_an_export_of_nothing_but_a_reply_without_words_takes_nothing_away(
    import_text: ImportText, shown: Shown
) -> None:
    import_text(json.dumps([claude("A whole answer.")]))
    bare = claude("")
    del bare["chat_messages"][0]
    other = json.loads(json.dumps(claude("Else.")).replace('"s"', '"t"'))
    import_text(json.dumps([bare, other]))
    assert shown() == "c1:0/0 c2>0"


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("The full", ("The full answer.", False)),
        ("The full answer. And then", ("The full answer. And then", True)),
        ("Another", ("Another", True)),
    ],
)
def test_only_what_says_more_or_else_takes_the_place_of_a_whole_reply(
    reply: str, kept: tuple[str, bool], import_text: ImportText, connection: Connection
) -> None:
    import_text(json.dumps(librechat("The full answer.")))
    import_text(json.dumps(librechat(reply, unfinished=True)))
    stored = connection.execute("select content, is_partial from orbitpilot.message where role = 'assistant'")
    assert stored.fetchall() == [kept]
