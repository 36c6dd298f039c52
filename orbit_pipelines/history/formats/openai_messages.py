"""Messages in the style of the OpenAI chat API: one object a conversation, with its ``messages`` in order.

The style is a habit and no standard: content comes as a string, null or parts; ids and times are there only where
somebody added them, under one of a few usual names.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from orbit_pipelines.history.formats.content import (
    as_object,
    as_word,
    content_text,
    is_no_turn,
    join_parts,
    said_in,
    turn_role,
)
from orbit_pipelines.history.formats.lost_questions import LostQuestions
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, Role, turn_place
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_SESSION_ID_KEYS = ("id", "conversation_id", "session_id")
_MESSAGE_ID_KEYS = ("id", "message_id", "uuid")
_TIME_KEYS = ("timestamp", "created_at", "create_time", "created", "sent_at", "time", "date")
_TIMES = frozenset(_TIME_KEYS)
_CALL_KEYS = ("tool_calls", "function_call")


def recognises(value: object) -> bool:
    """Say whether ``value`` is an object with a list of messages that have a role, or with an empty one."""
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(messages, list) or isinstance(value.get("history"), dict):
        return False
    if not messages:
        return "conversationId" not in value
    return any(isinstance(message, dict) and "role" in message for message in messages)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield a session for each row that has a turn; ids and times only where the row has them."""
    for row in rows:
        session = _read_row(row, problems)
        if session is not None:
            yield session


def _read_row(row: Row, problems: Problems) -> ParsedSession | None:
    conversation = as_object(row.value)
    written = conversation.get("messages")
    if not isinstance(written, list):
        problems.add("broken_conversation", row.where, "no list of messages; skipped")
        return None
    metadata = as_object(conversation.get("metadata"))
    session_id = _first_id(conversation, _SESSION_ID_KEYS) or _first_id(metadata, _SESSION_ID_KEYS)
    messages = _messages(written, row.where, problems)
    if not messages:
        problems.add("empty_conversation", row.where, "no message of the user or the assistant; skipped")
        return None
    title = conversation.get("title") or metadata.get("title")
    sent = min((message.sent_at for message in messages if message.sent_at), default=None)
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {row.where}", problems) if isinstance(title, str) else None,
        started_at=_first_time(conversation, row.where, problems) or _first_time(metadata, row.where, problems) or sent,
    )


def _messages(written: Iterable[object], where: str, problems: Problems) -> tuple[ParsedMessage, ...]:
    messages: list[ParsedMessage] = []
    taken: dict[str, tuple[Role, str]] = {}
    lost = LostQuestions()
    called: dict[str, object] = {}
    stood = 0
    for number, message in enumerate(written, start=1):
        place = f"message {number} of {where}"
        role = _role(message, place, problems)
        if role is None or not isinstance(message, dict):
            if not isinstance(message, dict) or not is_no_turn(message.get("role")):
                lost.pass_over()
                stood += 1
            continue
        stood += 1
        content = storable(_text(message, place, problems), place, problems)
        # An empty user message is kept: it may be an image alone, and the reply that follows is to it.
        if role == "assistant" and not content.strip():
            continue
        goes_on = lost.has_gap and any(called.get(key) for key in _CALL_KEYS)
        if lost.loses(role, messages[-1].role if messages else None, goes_on=goes_on):
            problems.add("lost_question", place, "a reply whose question isn't there; left out")
            continue
        called = message
        message_id = _first_id(message, _MESSAGE_ID_KEYS)
        if message_id is not None and taken.setdefault(message_id, (role, content)) != (role, content):
            # An id of the request or the turn, not of the message: its place names it then.
            problems.add("repeated_message", place, "its id stands twice, with other text; its place names it")
            message_id = None
        elif message_id is not None and any(message_id == kept.message_id for kept in messages):
            problems.add("repeated_message", place, "its id stands twice in the conversation; taken once")
            continue
        messages.append(
            ParsedMessage(
                message_id=message_id,
                parent_id=messages[-1].message_id if messages else None,
                role=role,
                content=content,
                sent_at=_first_time(message, place, problems),
                place=turn_place(stood, message_id, messages),
            )
        )
    return tuple(messages)


def _role(message: object, place: str, problems: Problems) -> Role | None:
    """Return the role of a turn, or None for what is none; only what isn't known is reported."""
    if not isinstance(message, dict):
        problems.add("broken_message", place, "no object; skipped")
        return None
    role = turn_role(message.get("role"))
    if role is None and not is_no_turn(message.get("role")):
        problems.add("unknown_role", place, "neither a turn nor a role known to be none; skipped")
    return role


def _text(message: Mapping[str, object], place: str, problems: Problems) -> str:
    """Return what a message says; a refusal, and what was spoken, stand beside an empty content."""
    said = content_text(said_in(message), place, problems)
    refusal = message.get("refusal")
    if isinstance(refusal, str):
        return join_parts((said, refusal))
    spoken = message.get("audio")
    if spoken and not said.strip():
        return as_word(as_object(spoken).get("transcript")) or said
    return said


def _first_id(holder: Mapping[str, object], keys: Iterable[str]) -> str | None:
    for key in keys:
        if key in holder and (found := usable_id(holder[key])) is not None:
            return found
    return None


def _first_time(holder: Mapping[str, object], where: str, problems: Problems) -> datetime | None:
    if _TIMES.isdisjoint(holder):
        return None
    return read_time(where, problems, *[holder[key] for key in _TIME_KEYS if key in holder])
