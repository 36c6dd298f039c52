"""What every export format yields: one stream of sessions, whatever the file looked like.

A format module knows its format and nothing of the database. It yields sessions in file order, one at a time, so that
a file of any size passes through bounded memory, and reports what it could not read instead of raising, unless the
file as a whole is unreadable.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """One visible turn of the active branch.

    ``message_id`` is the format's own id, or None where the format has none (storing then derives one from the
    message's place in its session). ``parent_id`` is the nearest ancestor that is a visible turn too, None at the root;
    for formats without a tree it is the message before. ``author`` is an actor id where the source tells one, else
    None: the account's user for a user message, the agent for a reply. ``sent_at`` is in UTC, or None. ``place`` is
    told for messages without an id alone: how many turns stand before it in its session, those included that were empty
    or couldn't be read; None where nothing was left out.
    """

    message_id: str | None
    parent_id: str | None
    role: Role
    content: str
    sent_at: datetime | None = None
    author: str | None = None
    is_partial: bool = False
    place: int | None = None


def turn_place(stood: int, message_id: str | None, before: Sequence[ParsedMessage]) -> int | None:
    """Return what ``place`` is to be for the last of ``stood`` turns, ``before`` which some may have been left out."""
    return stood - 1 if message_id is None and stood > len(before) + 1 else None


@dataclass(frozen=True, slots=True)
class ParsedSession:
    """One conversation: its active branch in order, and the ids that are off it.

    ``session_id`` is the format's own id, or None where it has none. ``left_behind`` holds the ids of messages that
    the file shows off the active branch; their text is not carried. ``is_whole`` says that the file shows the branch
    link by link from its root: what is stored beside a message, under the same parent, and isn't in the file any more
    has left the branch too. ``session_kind`` is None where the file doesn't tell one: it is a chat then, unless an
    earlier file told otherwise.
    """

    session_id: str | None
    messages: tuple[ParsedMessage, ...]
    title: str | None = None
    started_at: datetime | None = None
    left_behind: frozenset[str] = frozenset()
    is_whole: bool = False
    do_not_remember: bool = False
    channel: str | None = None
    chat_type: str | None = None
    session_kind: str | None = None
    hook_source: str | None = None
    participants: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a readable file that was skipped, replaced or doubtful.

    ``kind`` is a stable word for counting (``broken_conversation``, ``broken_line``, ``text_replaced``,
    ``current_node_missing``, ``cycle`` …), ``where`` names the thing (a conversation's id, a line's number), ``what``
    says what was seen and done. Never message text.
    """

    kind: str
    where: str
    what: str


@dataclass(slots=True)
class Problems:
    """Collects what a reading came across; counts everything, keeps the first of each kind to show."""

    keep: int = 20
    counts: dict[str, int] = field(default_factory=dict)
    shown: list[Problem] = field(default_factory=list)

    def add(self, kind: str, where: str, what: str) -> None:
        """Count one problem, and keep it while fewer than ``keep`` of its kind are kept."""
        seen = self.counts.get(kind, 0)
        self.counts[kind] = seen + 1
        if seen < self.keep:
            self.shown.append(Problem(kind, where, what))

    def take(self, others: "Problems", of: str | None = None) -> None:
        """Take up what another reading came across; ``of`` names the file where it was one of several."""
        shown = Counter(problem.kind for problem in self.shown)
        for problem in others.shown:
            if shown[problem.kind] < self.keep:
                shown[problem.kind] += 1
                self.shown.append(problem if of is None else replace(problem, where=f"{of}: {problem.where}"))
        for kind, count in others.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count


SessionStream = Iterator[ParsedSession]
