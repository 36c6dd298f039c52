"""Turns of a branch as messages: what every format does alike once it knows who said what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orbit_pipelines.history.formats.branches import Parents, climb, newest_leaf
from orbit_pipelines.history.stream import ParsedMessage, Problems, Role
from orbit_pipelines.history.text import storable


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as a format read it: ``text`` as it stands in the file, the rest as in ``ParsedMessage``.

    ``is_void`` marks one with nothing in it, no image and no file either.
    """

    role: Role
    message_id: str | None
    text: str
    sent_at: datetime | None = None
    author: str | None = None
    is_partial: bool = False
    is_void: bool = False


def branch_messages(turns: Iterable[Turn], where: str, problems: Problems) -> tuple[ParsedMessage, ...]:
    """Return the turns of one branch, in its order, as messages that follow each other.

    A reply without words is left out. A question without words is kept: it may be an image alone, and the reply that
    follows is to it. A void one is kept only for the reply that follows. An id that comes again is taken once.
    """
    messages: list[ParsedMessage] = []
    taken: set[str] = set()
    said = [turn for turn in turns if turn.role == "user" or turn.text.strip()]
    for place, turn in enumerate(said):
        if turn.is_void and (place + 1 == len(said) or said[place + 1].role == "user"):
            continue
        message_id = turn.message_id
        if message_id in taken:
            problems.add("repeated_message", where, f"message {message_id} stands twice on the branch; taken once")
            continue
        content = storable(turn.text, f"message {message_id or len(messages) + 1} of {where}", problems)
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


def branch_in_view(
    parents: Parents, turns: Mapping[str, Turn | None], leaf: str | None, where: str, problems: Problems
) -> list[str]:
    """Return the keys from the root to ``leaf``; without one, to the newest leaf that shows anything.

    ``turns`` has every key of the tree, with None for a node that is no turn. A reply without words, such as one that
    failed, doesn't draw the view away from an earlier one that has them.
    """
    if leaf is None:
        shown = [key for key, turn in turns.items() if turn and (turn.role == "user" or turn.text.strip())]
        leaf = newest_leaf(parents, lambda key: turn.sent_at if (turn := turns[key]) else None, shown)
    if leaf is None:
        return []
    branch, is_cut = climb(parents, leaf)
    if is_cut:
        problems.add("cycle", where, "the parent links form a cycle; cut where they close")
    return branch


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
