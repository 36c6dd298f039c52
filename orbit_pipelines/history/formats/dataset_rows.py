"""Rows of the public chat collections WildChat and LMSYS-Chat: one row a conversation, as Parquet or as JSON lines.

A row tells the time of its last turn; only some releases tell that of every turn. What they tell of the people behind
the turns (hashed addresses, request headers, countries) is not read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from orbit_pipelines.history.formats.content import as_object, content_text, is_no_turn, said_in, turn_role
from orbit_pipelines.history.formats.lost_questions import LostQuestions
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, turn_place
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_ID_KEYS = ("conversation_hash", "conversation_id")
_WILDCHAT_KEYS = frozenset({"conversation_hash", "timestamp", "toxic", "redacted"})


def recognises_wildchat(value: object) -> bool:
    """Say whether ``value`` is a row with the marks of WildChat."""
    return _is_row(value) and bool(as_object(value).keys() & _WILDCHAT_KEYS)


def recognises_lmsys(value: object) -> bool:
    """Say whether ``value`` is a row of turns under ``conversation``, without the marks of WildChat."""
    return _is_row(value) and not recognises_wildchat(value)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield a session for each row that has a turn, under the row's own id."""
    for row in rows:
        session = _read_row(row, problems)
        if session is not None:
            yield session


def _is_row(value: object) -> bool:
    turns = value.get("conversation") if isinstance(value, dict) else None
    return isinstance(turns, list) and any(isinstance(turn, dict) and "role" in turn for turn in turns)


def _read_row(row: Row, problems: Problems) -> ParsedSession | None:
    conversation = as_object(row.value)
    turns = conversation.get("conversation")
    if not isinstance(turns, list):
        problems.add("broken_conversation", row.where, "no list of turns; skipped")
        return None
    session_id = next((found for key in _ID_KEYS if (found := usable_id(conversation.get(key)))), None)
    where = row.where if session_id is None else f"conversation {session_id}"
    last_turn_at = read_time(where, problems, conversation.get("timestamp"))
    messages = _date_turns(_messages(turns, where, problems), last_turn_at)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant; skipped")
        return None
    return ParsedSession(
        session_id=session_id,
        messages=tuple(messages),
        started_at=min((message.sent_at for message in messages if message.sent_at), default=last_turn_at),
    )


def _messages(turns: Iterable[object], where: str, problems: Problems) -> list[ParsedMessage]:
    messages: list[ParsedMessage] = []
    taken: set[str] = set()
    lost = LostQuestions()
    stood = 0
    for number, turn in enumerate(turns, start=1):
        place = f"turn {number} of {where}"
        if not isinstance(turn, dict):
            problems.add("broken_message", place, "no object; skipped")
            lost.pass_over()
            stood += 1
            continue
        role = turn_role(turn.get("role"))
        if role is None:
            if not is_no_turn(turn.get("role")):
                problems.add("unknown_role", place, "neither a turn nor a role known to be none; skipped")
                lost.pass_over()
                stood += 1
            continue
        stood += 1
        content = storable(content_text(said_in(turn), place, problems), place, problems)
        if role == "assistant" and not content.strip():
            continue
        if lost.loses(role, messages[-1].role if messages else None):
            problems.add("lost_question", place, "a reply whose question isn't there; left out")
            continue
        message_id = _message_id(turn, role, taken, place, problems)
        messages.append(
            ParsedMessage(
                message_id=message_id,
                parent_id=messages[-1].message_id if messages else None,
                role=role,
                content=content,
                sent_at=read_time(place, problems, turn.get("timestamp")),
                place=turn_place(stood, message_id, messages),
            )
        )
    return messages


def _message_id(turn: Mapping[str, object], role: str, taken: set[str], place: str, problems: Problems) -> str | None:
    """Return the turn's identifier; a question and its reply may share one, and then the second adds its role."""
    identifier = usable_id(turn.get("turn_identifier"))
    if identifier is None:
        return None
    if identifier in taken:
        identifier = f"{identifier}-{role}"
    if identifier in taken:
        problems.add("repeated_message", place, "its identifier stands more than twice; its place names it")
        return None
    taken.add(identifier)
    return identifier


def _date_turns(messages: Sequence[ParsedMessage], last_turn_at: datetime | None) -> list[ParsedMessage]:
    """Give a question the time of its reply where it has none: a turn has one time. The row's is the last turn's."""
    dated: list[ParsedMessage] = []
    moment = last_turn_at
    for message in reversed(messages):
        if dated and dated[-1].role == "assistant" and message.role == "user":
            moment = dated[-1].sent_at
        elif dated:
            moment = None
        dated.append(message if message.sent_at or moment is None else replace(message, sent_at=moment))
    dated.reverse()
    return dated
