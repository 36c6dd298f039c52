"""What a file says of a session beside what is stored of it, where messages are named by their places alone.

A place is a weak name: an empty reply that is filled later, a log of which only the newest part is left, a message
that can be read at last, and every place behind it names another message; and the same chat from another source, or
from the same one in another year, may name its messages or not. So the two are laid side by side by what they say. What
says the same is the same message, with its number and its mark; what is new gets an id that no message of the session
ever had; what was stored and is contradicted leaves the branch, as in a tree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import count, pairwise

from orbit_pipelines.history.stream import ParsedMessage, ParsedSession

Token = tuple[str, ...]

_NAMED_BY_PLACE = re.compile(r"m[0-9]+|.*~[0-9]*", re.DOTALL)
"""What ids look like that were made here or by ``identify_messages``; ``find_misplaced_sessions`` has it too."""

_FEW = 50
"""So many messages that say the same are looked at when one is found elsewhere."""

_ROUNDS = 3
"""How often a file is laid beside what is stored, each time without what turned out to agree by chance."""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A stored message, in the order of its branch; those off the branch follow it, and then those that are deleted.

    Of a deleted message only the id, the pair's number and mark and perhaps a hash of its text are known: ``role`` and
    ``content`` are None.
    """

    message_id: str
    parent_id: str | None = None
    role: str | None = None
    content: str | None = None
    is_active: bool = False
    pair_index: int | None = None
    answers: int | None = None
    not_remembered: bool = False
    text_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which stored message each message of a file is; ``ids`` and ``left_behind`` in their own order.

    ``agreeing`` counts the messages that say the same, ``contradicting`` those that stand where the other says
    something else. ``has_exchange`` says whether a question and a reply are among the agreeing ones, ``is_contained``
    whether everything that one of the two says is said by the other, ``has_marked`` whether an agreeing one is marked
    as not to be remembered.
    """

    ids: tuple[str, ...]
    left_behind: frozenset[str]
    agreeing: int
    contradicting: int
    has_exchange: bool
    is_contained: bool
    has_marked: bool


def align(
    stored: Sequence[StoredTurn], said: Sequence[ParsedMessage], hash_text: Callable[[str], bytes] | None = None
) -> Alignment:
    """Lay the messages of a file beside those that are stored of the session.

    A message of the file whose own id (``place`` is None) is stored is told by it. All others are told by role and
    text, in order: they are what was stored under a place or, where the file has no more to name them by, under an id.
    Two messages with different ids of their own are never one. Where both go on from the same message and say
    different things:

    - a reply that is the other's beginning, or goes on from it, is the same reply;
    - between messages that agree, as many messages of the same roles are the stored ones, edited;
    - else the stored ones are left behind, and at the end of what agrees so is everything that follows them.

    What only one of the two says contradicts nothing. A reply that agrees, but to another question, is another reply. A
    question that was deleted returns where ``hash_text`` gives its hash.
    """
    return _Aligning(stored, said, hash_text).result()


def realign(session: ParsedSession, stored: Sequence[StoredTurn], hash_text: Callable[[str], bytes]) -> ParsedSession:
    """Return the session with the ids of ``align``, and what it leaves behind."""
    alignment = align(stored, session.messages, hash_text)
    renamed = {message.message_id: new for message, new in zip(session.messages, alignment.ids, strict=True)}
    return replace(
        session,
        messages=tuple(
            replace(message, message_id=new, parent_id=renamed.get(message.parent_id, message.parent_id))
            for message, new in zip(session.messages, alignment.ids, strict=True)
        ),
        left_behind=session.left_behind.union(alignment.left_behind).difference(alignment.ids),
    )


@dataclass(slots=True)
class _Gap:
    """What stands between two messages that agree, by index in each sequence; ``is_last`` where none follows."""

    stored: list[int]
    said: list[int]
    is_first: bool
    is_last: bool


@dataclass(slots=True)
class _Aligning:
    stored: Sequence[StoredTurn]
    said: Sequence[ParsedMessage]
    hash_text: Callable[[str], bytes] | None
    branch: list[StoredTurn] = field(init=False)
    own: frozenset[str] = field(init=False)
    held: frozenset[str] = field(init=False)
    stored_tokens: list[Token] = field(init=False)
    said_tokens: list[Token] = field(init=False)
    repeated: frozenset[Token] = field(init=False)
    found: dict[int, StoredTurn] = field(default_factory=dict)
    agreeing: set[int] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    contradicting: int = 0

    def __post_init__(self) -> None:
        self.branch = [turn for turn in self.stored if turn.is_active]
        self.own = frozenset(message.message_id or "" for message in self.said if message.place is None)
        self.held = frozenset(turn.message_id for turn in self.stored)
        self.stored_tokens = [self._of_stored(turn) for turn in self.branch]
        self.said_tokens = [
            (message.message_id or "",) if self._is_held(message) else (message.role, message.content)
            for message in self.said
        ]
        self.repeated = _repeated(self.stored_tokens) | _repeated(self.said_tokens)
        matched = self._chain() or [
            (of_branch, of_said)
            for of_branch, of_said in match(self.stored_tokens, self.said_tokens)
            if self._may_be(self.branch[of_branch], self.said[of_said])
        ]
        for _ in range(_ROUNDS):
            self._lay(matched)
            parted = self._part_replies()
            # A reply that agrees by chance, to another question, holds nothing in its place.
            remaining = [pair for pair in matched if pair[1] not in parted]
            if len(remaining) == len(matched):
                break
            matched = remaining

    def _lay(self, matched: Sequence[tuple[int, int]]) -> None:
        self.found = {of_said: self.branch[of_branch] for of_branch, of_said in matched}
        self.agreeing = set(self.found)
        self.left = set()
        self.contradicting = 0
        waiting: dict[Token, list[StoredTurn]] = defaultdict(list)
        for turn in self.stored:
            if turn.role is not None and not turn.is_active:
                waiting[self._of_stored(turn)].append(turn)
        gaps = list(_gaps(matched, len(self.branch), len(self.said)))
        marked = {turn.pair_index for turn in self.branch if turn.not_remembered}
        for gap in gaps:
            for index in gap.stored:
                # What stands before everything that agrees was cut off, and not put elsewhere; but no mark is lost so.
                turn = self.branch[index]
                if not gap.is_first or turn.not_remembered or (turn.answers is not None and turn.answers in marked):
                    replies = [
                        turn.content or "" for turn in self.branch[index + 1 : index + 2] if turn.pair_index is None
                    ]
                    waiting[self._asked(self.stored_tokens[index], turn.role, replies)].append(turn)
        for gap in gaps:
            self._take_elsewhere(gap, waiting)
        self._return_deleted()
        elsewhere = {turn.message_id for turn in self.found.values()}
        for gap in gaps:
            gap.stored = [index for index in gap.stored if self.branch[index].message_id not in elsewhere]
            self._resolve(gap)

    def _of_stored(self, turn: StoredTurn) -> Token:
        return (turn.message_id,) if turn.message_id in self.own else (turn.role or "", turn.content or "")

    def _is_held(self, message: ParsedMessage) -> bool:
        return message.place is None and message.message_id in self.held

    def _may_be(self, turn: StoredTurn, message: ParsedMessage) -> bool:
        """Say whether a message of the file can be a stored one, as far as their ids go."""
        if self._is_held(message) or turn.message_id in self.own:
            return message.place is None and turn.message_id == message.message_id
        return message.place is not None or _NAMED_BY_PLACE.fullmatch(turn.message_id) is not None

    def result(self) -> Alignment:
        kept = {turn.message_id for turn in self.found.values()}
        roles = {self.said[index].role for index in self.agreeing}
        return Alignment(
            ids=tuple(self._ids()),
            left_behind=frozenset(self.left - kept),
            agreeing=len(self.agreeing),
            contradicting=self.contradicting,
            has_exchange=len(roles) > 1,
            is_contained=len(self.agreeing) >= min(len(self.branch), len(self.said)),
            has_marked=any(self.found[index].not_remembered for index in self.agreeing),
        )

    def _chain(self) -> list[tuple[int, int]]:
        """Return the messages that were stored one under the other as the file has them; none if some aren't.

        The same file is the same again, whatever else says the same.
        """
        stored, said = self.stored_tokens, self.said_tokens
        under: dict[tuple[str | None, Token], int] = {}
        for index in range(len(stored) - 1, -1, -1):
            under[self.branch[index].parent_id, stored[index]] = index
        for start in range(len(stored) - len(said) + 1 if said else 0):
            if stored[start] != said[0]:
                continue
            chain = [start]
            for token in said[1:]:
                following = under.get((self.branch[chain[-1]].message_id, token), -1)
                if following <= chain[-1]:
                    break
                chain.append(following)
            pairs = list(enumerate(chain))
            if len(chain) == len(said) and all(self._may_be(self.branch[at], self.said[index]) for index, at in pairs):
                return [(at, index) for index, at in pairs]
        return []

    def _take_elsewhere(self, gap: _Gap, waiting: dict[Token, list[StoredTurn]]) -> None:
        """Find what had left the branch or stood elsewhere on it: under the same parent rather than another."""
        for index in gap.said:
            message, token = self.said[index], self.said_tokens[index]
            replies = [each.content for each in self.said[index + 1 : index + 2] if each.role == "assistant"]
            keys = dict.fromkeys((token, self._asked(token, message.role, replies)))
            turns = [turn for key in keys for turn in waiting.get(key, ())[:_FEW] if self._may_be(turn, message)]
            if not turns:
                continue
            before = self.found.get(index - 1)
            parent_id = before.message_id if before else None
            turn = next((each for each in turns if each.parent_id == parent_id), turns[0])
            for key in keys:
                waiting[key] = [each for each in waiting.get(key, ()) if each is not turn]
            self.found[index] = turn
            self.agreeing.add(index)

    def _return_deleted(self) -> None:
        """Find what was deleted, by the hash of its text: the one of the same name, else what is marked first."""
        deleted: dict[bytes, list[StoredTurn]] = defaultdict(list)
        for turn in sorted(self.stored, key=lambda turn: not turn.not_remembered):
            if turn.role is None and turn.text_hash is not None:
                deleted[turn.text_hash].append(turn)
        if not deleted or self.hash_text is None:
            return
        for index, message in enumerate(self.said):
            if message.role != "user" or index in self.found:
                continue
            text_hash = self.hash_text(message.content)
            turns = [turn for turn in deleted.get(text_hash, ())[:_FEW] if self._may_be(turn, message)]
            if turns:
                turn = next((each for each in turns if each.message_id == message.message_id), turns[0])
                deleted[text_hash].remove(turn)
                self.found[index] = turn
                self.agreeing.add(index)

    def _asked(self, token: Token, role: str | None, replies: Sequence[str]) -> Token:
        """Return what tells a message of the branch when it is put elsewhere, rather than asked once more.

        A question that comes again and again is told by the reply to it.
        """
        return (*token, "", *replies) if role == "user" and token in self.repeated else token

    def _resolve(self, gap: _Gap) -> None:
        stored_replies, stored_rest = _part(gap.stored, [turn.role for turn in self.branch])
        said_replies, said_rest = _part(gap.said, [message.role for message in self.said])
        is_closed = not gap.is_last and self.found.keys().isdisjoint(gap.said)
        if stored_replies and said_replies and not self._same_replies(stored_replies, said_replies):
            if is_closed and len(stored_replies) == len(said_replies):
                self._edit(stored_replies, said_replies)
            else:
                self._leave(stored_replies)
                if not is_closed:
                    self._leave(stored_rest)
            self.contradicting += min(len(stored_replies), len(said_replies))
        if stored_rest and said_rest:
            self.contradicting += min(len(stored_rest), len(said_rest))
            roles = [self.said[index].role for index in said_rest]
            if is_closed and roles == [self.branch[index].role for index in stored_rest]:
                self._edit(stored_rest, said_rest)
            elif not (gap.is_first and is_closed):
                # Before everything that agrees, a head that was cut says nothing against what it lacks.
                self._leave(stored_rest)

    def _same_replies(self, stored: Sequence[int], said: Sequence[int]) -> bool:
        """Say whether replies to one question are the same, one of each pair perhaps cut short; the pairs are found."""
        pairs = list(zip(stored, said, strict=False))
        for of_branch, of_said in pairs:
            one, other = self.branch[of_branch].content or "", self.said[of_said].content
            if of_said in self.found or not is_same_text("assistant", one, other):
                return False
            if not self._may_be(self.branch[of_branch], self.said[of_said]):
                return False
        self._edit(*zip(*pairs, strict=True))
        self.agreeing.update(of_said for _, of_said in pairs)
        return True

    def _edit(self, stored: Sequence[int], said: Sequence[int]) -> None:
        for of_branch, of_said in zip(stored, said, strict=True):
            if self._may_be(self.branch[of_branch], self.said[of_said]):
                self.found[of_said] = self.branch[of_branch]
            else:
                self._leave([of_branch])

    def _leave(self, stored: Collection[int]) -> None:
        self.left.update(self.branch[index].message_id for index in stored)

    def _part_replies(self) -> set[int]:
        """Part from their stored ids the replies that the file has under another question than they answered."""
        parted: set[int] = set()
        question: int | None = None
        has_question = False
        for index, message in enumerate(self.said):
            turn = self.found.get(index)
            if message.role == "user":
                has_question = True
                question = turn.pair_index if turn else None
            elif turn and not self._is_held(message) and has_question and turn.answers != question:
                del self.found[index]
                self.agreeing.discard(index)
                self.left.add(turn.message_id)
                parted.add(index)
        return parted

    def _ids(self) -> Iterator[str]:
        taken = {*self.held, *self.own}
        before = ""
        for index, message in enumerate(self.said):
            turn = self.found.get(index)
            if turn is not None:
                before = turn.message_id
            elif message.place is None:
                before = message.message_id or ""
            else:
                before = _new_id(message.message_id or "", before, taken)
                taken.add(before)
            yield before


def is_same_text(role: str, one: str, other: str) -> bool:
    """Say whether two texts are one message's: of a reply the one may be cut short."""
    return one == other or (role == "assistant" and (one.startswith(other) or other.startswith(one)))


def match(stored: Sequence[Token], said: Sequence[Token]) -> list[tuple[int, int]]:
    """Return which of ``stored`` are which of ``said``, as pairs of indexes that rise together.

    The beginning that both share, the end that both share, and the longest common runs between them. But where all that
    is said, or its beginning up to the stored end, stands in a row, and explains as much, it is a log that moved on.
    """
    shortest = min(len(stored), len(said))
    head = next((index for index in range(shortest) if stored[index] != said[index]), shortest)
    tail = next((index for index in range(shortest - head) if stored[-1 - index] != said[-1 - index]), shortest - head)
    ends = len(stored) - tail, len(said) - tail
    pairs = [(index, index) for index in range(head)]
    if head == shortest:
        return pairs
    if head < min(ends):
        # Texts that come again and again are no anchors: difflib leaves them to their neighbours.
        blocks = SequenceMatcher(None, stored[head : ends[0]], said[head : ends[1]]).get_matching_blocks()
        pairs += [(head + a + index, head + b + index) for a, b, size in blocks for index in range(size)]
    pairs += [(ends[0] + index, ends[1] + index) for index in range(tail)]
    start = _row(stored, said)
    length = min(len(said), len(stored) - start)
    return [(start + index, index) for index in range(length)] if length >= max(len(pairs), 2) else pairs


def _row(stored: Sequence[Token], said: Sequence[Token]) -> int:
    """Return where all that is said stands in a row, or its beginning up to the end; the end if it stands nowhere."""
    for start, token in enumerate(stored):
        length = min(len(said), len(stored) - start)
        if token != said[0] or stored[start + length - 1] != said[length - 1]:
            continue
        if list(stored[start : start + length]) == list(said[:length]):
            return start
    return len(stored)


def _gaps(matched: Sequence[tuple[int, int]], stored: int, said: int) -> Iterator[_Gap]:
    edges = [(-1, -1), *matched, (stored, said)]
    for (a, b), (next_a, next_b) in pairwise(edges):
        if next_a - a > 1 or next_b - b > 1:
            yield _Gap(
                list(range(a + 1, next_a)),
                list(range(b + 1, next_b)),
                is_first=a < 0,
                is_last=next_a == stored and next_b == said,
            )


def _repeated(tokens: Sequence[Token]) -> frozenset[Token]:
    return frozenset(token for token, number in Counter(tokens).items() if number > 1)


def _part(indexes: Sequence[int], roles: Sequence[str | None]) -> tuple[list[int], list[int]]:
    """Part the replies that a stretch begins with, which belong to what stands before it, from the rest."""
    first = next((at for at, index in enumerate(indexes) if roles[index] != "assistant"), len(indexes))
    return list(indexes[:first]), list(indexes[first:])


def _new_id(name: str, before: str, taken: Collection[str]) -> str:
    """Return an id that no message of the session has or had: the next place, or a further version of it."""
    if before.startswith("m") and before[1:].isdecimal():
        name = f"m{int(before[1:]) + 1}"
    if name not in taken:
        return name
    return next(each for number in count(2) if (each := f"{name}~{number}") not in taken)
