"""Words stand where nobody expects them: each shape is read, and what isn't known is left out and named."""

from collections.abc import Callable
from typing import Any

import pytest

from orbit_pipelines.history.stream import ParsedSession, Problems

Reading = tuple[list[ParsedSession], Problems]
Write = Callable[[object], object]


def openai(content: object) -> object:
    return {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]}


def wildchat(content: object) -> object:
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]
    return {"conversation_hash": "c", "conversation": turns}


def sharegpt(content: object) -> object:
    return {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": content}]}


def claude(content: object) -> object:
    messages = [{"uuid": "1", "sender": "human", "text": "q"}, {"uuid": "2", "sender": "assistant", "content": content}]
    return {"uuid": "c", "chat_messages": messages}


def librechat(content: object) -> object:
    asked = {"messageId": "1", "parentMessageId": None, "isCreatedByUser": True, "text": "q"}
    answered = {"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "content": content}
    return {"conversationId": "c", "messages": [asked, answered]}


def openwebui(content: object) -> object:
    messages = {
        "1": {"id": "1", "parentId": None, "role": "user", "content": "q"},
        "2": {"id": "2", "parentId": "1", "role": "assistant", "content": content},
    }
    return {"id": "c", "chat": {"history": {"currentId": "2", "messages": messages}}}


def openclaw(content: object) -> object:
    return [
        {"type": "session", "version": 3, "id": "s", "cwd": "/"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "q"}},
        {"type": "message", "id": "2", "parentId": "1", "message": {"role": "assistant", "content": content}},
    ]


def chatgpt_of(content: object) -> list[dict[str, Any]]:
    mapping = {
        "1": {"id": "1", "parent": None, "message": {"author": {"role": "user"}, "content": "q"}},
        "2": {"id": "2", "parent": "1", "message": {"author": {"role": "assistant"}, "content": content}},
    }
    return [{"id": "c", "current_node": "2", "mapping": mapping}]


def chatgpt(content: object) -> list[dict[str, Any]]:
    return chatgpt_of({"content_type": "text", "parts": content})


WRITERS = [openai, wildchat, sharegpt, claude, librechat, openwebui, openclaw, chatgpt]

READ = [
    "a",
    ["a"],
    [{"type": "text", "text": "a"}],
    [{"text": "a"}],
    {"text": "a"},
    [{"type": "refusal", "refusal": "a"}],
]
LEFT_OUT = [[{"type": "hologram", "text": "UNSEEN"}], [["UNSEEN"]], 7, {"type": "hologram", "content": ["UNSEEN"]}]
WORDLESS: list[Any] = [
    [{"type": "image_url", "image_url": {"url": "x"}}],
    None,
    [],
    [None],
    {},
    [{"type": "thinking", "text": "T"}],
]


def replies(session: ParsedSession) -> list[str]:
    return [message.content for message in session.messages if message.role == "assistant"]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("content", READ, ids=repr)
def test_a_reply_is_read_in_every_shape(write: Write, content: object, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(write(content))
    assert replies(sessions[0]) == ["a"]
    assert problems.counts == {}


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("content", LEFT_OUT, ids=repr)
def test_words_of_an_unknown_shape_are_named(write: Write, content: Any, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(write(content))
    assert replies(sessions[0]) == []
    assert problems.counts == {"unknown_content": 1}
    assert "UNSEEN" not in repr(problems.shown)


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("content", WORDLESS, ids=repr)
def test_what_has_no_words_is_no_problem(write: Write, content: object, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(write(content))
    assert replies(sessions[0]) == []
    assert problems.counts == {}


@pytest.mark.parametrize(
    "content",
    [
        ["a"],
        {"content_type": "text", "text": "a"},
        {"content_type": "text", "parts": [], "text": "a"},
        {"content_type": "code", "text": "a"},
        {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, {"text": "a"}]},
        {"parts": [{"content_type": "audio_transcription", "text": "a"}]},
    ],
)
def test_chatgpt_keeps_words_in_several_places(content: object, read_text: Callable[..., Reading]) -> None:
    sessions, problems = read_text(chatgpt_of(content))
    assert replies(sessions[0]) == ["a"]
    assert problems.counts == {}


@pytest.mark.parametrize(
    "reply",
    [
        {"content": None, "refusal": "a"},
        {"content": "", "refusal": "a"},
        {"content": None, "audio": {"id": "x", "transcript": "a"}},
        {"content": [{"type": "output_audio", "transcript": "a"}]},
        {"text": "a"},
        {"parts": [{"text": "a"}]},
    ],
)
def test_what_was_said_in_another_way_is_said(reply: dict[str, Any], read_text: Callable[..., Reading]) -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", **reply}]
    sessions, problems = read_text({"messages": messages})
    assert replies(sessions[0]) == ["a"]
    assert problems.counts == {}


def test_an_attachment_in_parts_is_read(read_text: Callable[..., Reading]) -> None:
    attachments = [{"extracted_content": ["a", {"text": "b"}]}, "PRIVATE", None, {"file_name": "c"}]
    sessions, problems = read_text(
        {"uuid": "c", "chat_messages": [{"uuid": "1", "sender": "human", "attachments": attachments}]}
    )
    assert [message.content for message in sessions[0].messages] == ["a\nb"]
    assert problems.counts == {}


@pytest.mark.parametrize(
    ("mark", "is_marked"),
    [
        (True, True), ("true", True), ("True", True), (" TRUE ", True), (1, True), ("1", True), ("yes", True),
        (False, False), (None, False), ("False", False), ("0", False), (0, False), ("", False), ("no", False),
    ],
)  # fmt: skip
def test_a_mark_is_one_however_it_is_written(mark: object, is_marked: bool, read_text: Callable[..., Reading]) -> None:
    conversation: dict[str, Any] = chatgpt("a")[0]
    sessions, _ = read_text([{**conversation, "is_do_not_remember": mark}])
    assert sessions[0].do_not_remember == is_marked
