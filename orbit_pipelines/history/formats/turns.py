"""Turns of a branch as messages: what every format does alike once it knows who said what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orbit_pipelines.history.stream import ParsedMessage, Problems, Role
from orbit_pipelines.history.text import storable


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as a format read it: ``text`` as it stands in the file, the rest as in ``ParsedMessage``."""

    role: Role
    message_id: str | None
    text: str
    sent_at: datetime | None = None
    author: str | None = None
    is_partial: bool = False


def branch_messages(turns: Iterable[Turn], where: str, problems: Problems) -> tuple[ParsedMessage, ...]:
    """Return the turns of one branch, in its order, as messages that follow each other.

    A reply without words is left out. A question without words is kept: it may be an image alone, and the reply that
    follows is to it. An id that comes again is taken once.
    """
    messages: list[ParsedMessage] = []
    taken: set[str] = set()
    for turn in turns:
        message_id = turn.message_id
        if message_id in taken:
            problems.add("repeated_message", where, f"message {message_id} stands twice on the branch; taken once")
            continue
        content = storable(turn.text, f"message {message_id or len(messages) + 1} of {where}", problems)
        if turn.role == "assistant" and not content.strip():
            continue
        if message_id is not None:
            taken.add(message_id)
        messages.append(
            ParsedMessage(
                message_id=message_id,
                parent_id=messages[-1].message_id if messages else None,
                role=turn.role,
                content=content,
                sent_at=turn.sent_at,
                author=turn.author,
                is_partial=turn.is_partial and turn.role == "assistant",
            )
        )
    return tuple(messages)


def split_branch(
    turns: Mapping[str, Turn | None], branch: Sequence[str], where: str, problems: Problems
) -> tuple[tuple[ParsedMessage, ...], frozenset[str]]:
    """Return the messages of ``branch``, and the ids of the turns that are off it; None is a node that is no turn."""
    messages = branch_messages((turn for key in branch if (turn := turns[key])), where, problems)
    kept = {message.message_id for message in messages}
    on_branch = set(branch)
    others = (turn.message_id for key, turn in turns.items() if turn and key not in on_branch)
    return messages, frozenset(other for other in others if other is not None and other not in kept)


def first_sent(messages: Iterable[ParsedMessage]) -> datetime | None:
    """Return the earliest time that a message has."""
    return min((message.sent_at for message in messages if message.sent_at), default=None)
