"""Turns of a branch as messages: what every format does alike once it knows who said what."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orbit_pipelines.history.formats.branches import climb, link, newest_leaf
from orbit_pipelines.history.stream import ParsedMessage, Problems, Role
from orbit_pipelines.history.text import storable


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as a format read it: ``text`` as it stands in the file, the rest as in ``ParsedMessage``.

    ``is_void`` marks a question with nothing in it, no image and no file either; ``is_open`` a reply that called a tool
    and goes on in the next.
    """

    role: Role
    message_id: str | None
    text: str
    sent_at: datetime | None = None
    author: str | None = None
    is_partial: bool = False
    is_void: bool = False
    is_open: bool = False


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
    named: Iterable[tuple[str, str | None]],
    turns: dict[str, Turn | None],
    leaf: str | None,
    where: str,
    problems: Problems,
) -> list[str]:
    """Return the keys from the root to ``leaf``; without one, to the newest leaf that shows anything.

    A reply without words, such as one that failed, doesn't draw the view away from an earlier one that has them. A
    reply to a question that was lost with its line becomes no turn in ``turns``, so that it can't pass for a reply to
    another.

    Args:
        named: the entries and their parents' names, as for ``link``.
        turns: every entry's turn, None for one that is no turn.
        leaf: what the file points at; None where it points at nothing that is there.
        where: for reports.
        problems: told of what is wrong with the tree.
    """
    parents, missing = link(named)
    if missing:
        problems.add("parent_missing", where, "messages name a parent that isn't there; they follow the one before")
    if leaf is None:
        shown = [key for key in parents if (turn := turns[key]) and (turn.role == "user" or turn.text.strip())]
        leaf = newest_leaf(parents, {key: turn.sent_at for key, turn in turns.items() if turn}.get, shown)
    if leaf is None:
        return []
    branch, is_cut = climb(parents, leaf)
    if is_cut:
        problems.add("cycle", where, "the parent links form a cycle; cut where they close")
    for key in _orphans(branch, turns, missing):
        problems.add("lost_question", where, "a reply whose question isn't there; left out")
        turns[key] = None
    return branch


def _orphans(branch: Iterable[str], turns: Mapping[str, Turn | None], missing: Collection[str]) -> list[str]:
    """Return the replies behind a gap in the branch that follow a reply which was complete."""
    orphans: list[str] = []
    before: Turn | None = None
    is_gap = is_orphan = False
    for key in branch:
        turn = turns[key]
        is_gap = is_gap or key in missing
        if turn is None:
            continue
        is_answered = before is not None and before.role == "assistant" and not before.is_open
        is_orphan = turn.role == "assistant" and (is_orphan or (is_gap and is_answered))
        if is_orphan:
            orphans.append(key)
        is_gap = False
        before = turn
    return orphans


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
