"""Conversations in the ShareGPT style: turns of ``from`` and ``value``, as training files have them.

The names of the roles vary from file to file, and so does everything that one could take for granted: a row may begin
with the assistant, have several turns of one side in a row, or end with a question. Nothing has a time.
"""

from collections.abc import Iterable, Iterator

from orbit_pipelines.history.formats.content import as_object, as_word, content_text, said_in
from orbit_pipelines.history.formats.lost_questions import LostQuestions
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems, Role, turn_place
from orbit_pipelines.history.text import storable, usable_id

_ROLES: dict[str, Role | None] = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "model", "bot", "ai", "bard", "bing", "claude"), "assistant"),
    **dict.fromkeys(
        ("system", "developer", "function_call", "function", "function_response", "tool", "observation"), None
    ),
}
"""What each name stands for; None for what is no turn."""

_SPEAKER_KEYS = ("from", "role")


def recognises(value: object) -> bool:
    """Say whether ``value`` is an object with turns under ``conversations``, or with an empty list there."""
    turns = value.get("conversations") if isinstance(value, dict) else None
    if not isinstance(turns, list):
        return False
    return not turns or any(isinstance(turn, dict) and any(key in turn for key in _SPEAKER_KEYS) for turn in turns)


def read(rows: Iterable[Row], problems: Problems) -> Iterator[ParsedSession]:
    """Yield a session for each row that has a turn; the rows' own ids where they have some."""
    for row in rows:
        session = _read_row(row, problems)
        if session is not None:
            yield session


def _read_row(row: Row, problems: Problems) -> ParsedSession | None:
    conversation = as_object(row.value)
    turns = conversation.get("conversations")
    if not isinstance(turns, list):
        problems.add("broken_conversation", row.where, "no list of turns; skipped")
        return None
    session_id = usable_id(conversation.get("id"))
    where = row.where if session_id is None else f"conversation {session_id}"
    messages = _messages(turns, where, problems)
    if not messages:
        problems.add("empty_conversation", where, "no message of the user or the assistant; skipped")
        return None
    title = as_word(conversation.get("title"))
    return ParsedSession(
        session_id=session_id,
        messages=messages,
        title=storable(title, f"title of {where}", problems) if title else None,
    )


def _messages(turns: Iterable[object], where: str, problems: Problems) -> tuple[ParsedMessage, ...]:
    messages: list[ParsedMessage] = []
    lost = LostQuestions()
    stood = 0
    for number, turn in enumerate(turns, start=1):
        place = f"turn {number} of {where}"
        if not isinstance(turn, dict):
            problems.add("broken_message", place, "no object; skipped")
            lost.pass_over()
            stood += 1
            continue
        role = _role(turn, place, problems)
        if role is None and _speaker(turn) not in _ROLES:
            lost.pass_over()
            stood += 1
        if role is None:
            continue
        stood += 1
        content = storable(content_text(said_in(turn), place, problems), place, problems)
        if role == "assistant" and not content.strip():
            continue
        if lost.loses(role, messages[-1].role if messages else None):
            problems.add("lost_question", place, "a reply whose question isn't there; left out")
            continue
        # The style is text alone, so an empty question asked nothing; it stays to part what is around it.
        if role == "assistant" and messages and not messages[-1].content.strip():
            problems.add("reply_to_nothing", place, "it follows a question without words; skipped")
            continue
        messages.append(
            ParsedMessage(
                message_id=None,
                parent_id=None,
                role=role,
                content=content,
                place=turn_place(stood, None, messages),
            )
        )
    return tuple(messages)


def _role(turn: dict[str, object], place: str, problems: Problems) -> Role | None:
    """Return the role of a turn, or None for what is none; only what isn't known is reported."""
    name = _speaker(turn)
    if name not in _ROLES:
        problems.add("unknown_role", place, "neither a turn nor a role known to be none; skipped")
    return _ROLES.get(name)


def _speaker(turn: dict[str, object]) -> str:
    speaker = next((turn[key] for key in _SPEAKER_KEYS if turn.get(key) is not None), None)
    return (as_word(speaker) or "").strip().lower()
