"""Turns of a branch as messages: what every format does alike once it knows who said what."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from orbit_pipelines.history.formats.branches import UNREAD, climb, link, newest_leaf
from orbit_pipelines.history.formats.lost_questions import A_QUESTION, LostQuestions
from orbit_pipelines.history.stream import ParsedMessage, Problems, Role, turn_place
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


@dataclass(slots=True)
class Entries:
    """What a format read of one conversation, in the order of the file.

    ``named`` holds each entry's key and its parent's name, as for ``link``; ``turns`` its turn, None where it is none;
    ``lost`` how many entries that couldn't be read it stands for, or stands behind. ``behind`` holds the entries that
    nobody can name as a parent: they follow the key they stand under, or begin the conversation under "".
    """

    named: dict[str, str | None] = field(default_factory=dict)
    turns: dict[str, Turn | None] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    behind: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    """The tree that ``named`` became, once the branch in view was looked for."""
    has_gap: bool = False
    """Whether a link of the branch in view is missing or was made up."""

    def add(self, key: str, parent: str | None, turn: Turn | None) -> None:
        """Take an entry; its key must be new."""
        self.named[key] = parent
        self.turns[key] = turn

    def lose(self, key: str, parent: str | None = UNREAD, *, is_question: bool = False) -> None:
        """Take an entry that can't be read and may be a question, or is known to be one."""
        self.add(key, parent, None)
        self.lost[key] = A_QUESTION if is_question else 1


def shows_anything(turn: Turn | None) -> bool:
    """Say whether a reader sees a turn: a reply without words is none yet, a question without any may be an image."""
    return turn is not None and (turn.role == "user" or bool(turn.text.strip()))


def branch_messages(turns: Iterable[Turn], where: str, problems: Problems) -> tuple[ParsedMessage, ...]:
    """Return the turns of one branch, in its order, as messages that follow each other.

    A reply without words is left out. A question without words is kept: it may be an image alone, and the reply that
    follows is to it. A void one is kept only for the reply that follows. An id that comes again is taken once.
    """
    messages: list[ParsedMessage] = []
    taken: set[str] = set()
    said = [(stood, turn) for stood, turn in enumerate(turns, start=1) if shows_anything(turn)]
    for index, (stood, turn) in enumerate(said):
        if turn.is_void and (index + 1 == len(said) or said[index + 1][1].role == "user"):
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
                place=turn_place(stood, message_id, messages),
            )
        )
    return tuple(messages)


def branch_in_view(
    entries: Entries, leaf: str | None, where: str, problems: Problems, *, names_questions: bool = True
) -> list[str]:
    """Return the keys from the root to ``leaf``; without one, to the newest leaf that shows anything.

    A reply without words, such as one that failed, doesn't draw the view away from an earlier one that has them. A
    reply to a question that can't be read or isn't there becomes no turn in ``entries``, so that it can't pass for a
    reply to another.

    Args:
        entries: the conversation.
        leaf: what the file points at; None where it points at nothing that is there.
        where: for reports.
        problems: told of what is wrong with the tree.
        names_questions: whether the parent that a reply names is its question, and never a step on the way to it.
    """
    turns = entries.turns
    parents, missing = link(entries.named.items())
    entries.parents = parents
    if missing:
        problems.add("parent_missing", where, "messages name a parent that isn't there; they follow the one before")
    if leaf is None:
        shown = [key for key in parents if shows_anything(turns[key])]
        leaf = newest_leaf(parents, {key: turn.sent_at for key, turn in turns.items() if turn}.get, shown)
    branch: list[str] = []
    if leaf is not None:
        branch, is_cut = climb(parents, leaf)
        named = entries.named
        entries.has_gap = is_cut or any(named[key] is not None and named[key] not in named for key in branch)
        if is_cut:
            problems.add("cycle", where, "the parent links form a cycle; cut where they close")
    if entries.behind:
        branch = [each for key in ("", *branch) for each in (key, *entries.behind.get(key, ())) if each]
    if missing or entries.lost:
        leave_out_orphans(branch, entries, missing, where, problems, names_questions=names_questions)
    return branch


def leave_out_orphans(
    branch: Iterable[str],
    entries: Entries,
    missing: Collection[str],
    where: str,
    problems: Problems,
    *,
    names_questions: bool,
) -> None:
    """Take the turns from the replies on a branch whose question can't be read or isn't there, and report each."""
    named, turns = entries.named, entries.turns
    # Where nobody names a parent that is there, a missing one says nothing.
    names_questions = names_questions and any(parent in named for parent in named.values())
    lost = LostQuestions()
    before: Turn | None = None
    for key in branch:
        turn = turns[key]
        lost.pass_over(entries.lost.get(key, 0) or int(key in missing))
        if turn is None:
            continue
        if names_questions and turn.role == "assistant" and (key in missing or named.get(key) in entries.lost):
            lost.pass_over(A_QUESTION)
        if lost.loses(
            turn.role, None if before is None else before.role, goes_on=before is not None and before.is_open
        ):
            problems.add("lost_question", where, "a reply whose question isn't there; left out")
            turns[key] = None
        else:
            before = turn


def split_branch(
    entries: Entries, branch: Sequence[str], where: str, problems: Problems
) -> tuple[tuple[ParsedMessage, ...], frozenset[str]]:
    """Return the messages of ``branch``, and the ids of the turns that are off it.

    Replies without words in which the branch would go on are neither: they may have had words, or get some.
    """
    turns = entries.turns
    messages = branch_messages((turn for key in branch if (turn := turns[key])), where, problems)
    kept = {message.message_id for message in messages}
    on_branch = {*branch, *_wordless_ends(entries, branch)}
    others = (turn.message_id for key, turn in turns.items() if turn and key not in on_branch)
    return messages, frozenset(other for other in others if other is not None and other not in kept)


def _wordless_ends(entries: Entries, branch: Sequence[str]) -> Iterator[str]:
    """Yield the replies without words below the end of ``branch`` that nothing with words follows."""
    parents, turns = entries.parents, entries.turns
    wordless = [key for key, turn in turns.items() if turn is not None and not shows_anything(turn)]
    if not wordless:
        return
    end = branch[-1] if branch else None
    # Of those above what has words none is an end. No link is followed twice.
    is_end: dict[str | None, bool] = {**dict.fromkeys((None, *branch), False), end: True}
    for key in filter(lambda key: shows_anything(turns[key]), turns):
        above: str | None = key
        while above not in is_end:
            is_end[above] = False
            above = parents.get(above) if above is not None else None
    for key in wordless:
        path: list[str | None] = []
        above = key
        while above not in is_end:
            path.append(above)
            is_end[above] = False
            above = parents.get(above) if above is not None else None
        is_end.update(dict.fromkeys(path, is_end[above]))
        if is_end[key] and key != end:
            yield key


def is_told_whole(entries: Entries, messages: Iterable[ParsedMessage]) -> bool:
    """Say whether nothing of a conversation is missing, as far as it tells, and all its messages have ids."""
    return not entries.lost and not entries.has_gap and all(message.message_id is not None for message in messages)


def first_sent(messages: Iterable[ParsedMessage]) -> datetime | None:
    """Return the earliest time that a message has."""
    return min((message.sent_at for message in messages if message.sent_at), default=None)
