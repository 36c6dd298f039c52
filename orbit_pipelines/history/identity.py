"""Ids for what an export names by none: from content and place, never from a path, a line or anything that grows.

A file that was moved, renamed or continued gives the same ids again, so that it appends instead of duplicating, and a
forgotten session doesn't return under another name.
"""

import hashlib
import hmac
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from orbit_pipelines.history.alignment import StoredTurn, align, is_same_text
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession

_LABEL = b"session id\0"
"""Sets these digests apart from content hashes under the same key: no stored text holds a NUL."""

_DIGEST = 16
"""Bytes of one message's digest (MD5, which PostgreSQL has too) in those of a session, one after the other."""

_BORN_UNIQUE = 8
"""As long as an id must be to name one message in the world: shorter ones are numbers of turns."""

_MANY = 50
"""So many sessions that begin alike are read once for an import, and not once a batch."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored session that an incoming one, known by its number in the batch, may be."""

    number: int
    session_id: str
    is_forgotten: bool
    turns: Sequence[StoredTurn]


class Begun(NamedTuple):
    """What is known of a session that begins in a certain way.

    ``digests`` are those of what its branch says, in a row; None stands for a session of which nothing is stored any
    more.
    """

    digests: bytes | None
    is_forgotten: bool


class KnownSessions(Protocol):
    """What a store knows of sessions."""

    def begun_with(self, openings: Collection[str], *, by_id: bool) -> Mapping[str, Mapping[str, Begun]]:
        """Return every id ever given after each opening; digests are of a message's role and text, or its id too."""
        ...

    def holding(self, message_ids: Sequence[tuple[int, str]]) -> Iterator[Candidate]:
        """Yield a few sessions that hold, or held, the message ids of each session, told with its number."""
        ...

    def asking(self, digests: Iterable[tuple[int, bytes]]) -> Iterator[Candidate]:
        """Yield a few sessions that ask the questions of each session, told by digests of their texts."""
        ...


class NoneKnown:
    """Knows nothing, as a store does that nothing was imported into."""

    def begun_with(self, openings: Collection[str], *, by_id: bool) -> Mapping[str, Mapping[str, Begun]]:
        """Return no id."""
        return {opening: {} for opening in openings}

    def holding(self, message_ids: Sequence[tuple[int, str]]) -> Iterator[Candidate]:
        """Yield nothing."""
        return iter(())

    def asking(self, digests: Iterable[tuple[int, bytes]]) -> Iterator[Candidate]:
        """Yield nothing."""
        return iter(())


def identify_messages(sessions: Iterable[ParsedSession]) -> Iterator[ParsedSession]:
    """Yield the sessions with an id on every message; one with neither id nor messages can't be named and is left out.

    A message without an id is named by its place: ``m<place>``, or, after a message that has an id of its own, by
    that id and the distance (``<id>~1``), because an export that names some of its messages may later drop its head.
    A repeated id counts as none. ``place`` is told afterwards by exactly the messages that were named so.
    """
    for session in sessions:
        if not session.session_id and not session.messages:
            continue
        messages = _name_messages(session.messages)
        left_behind = session.left_behind
        if left_behind:
            left_behind = left_behind.difference(message.message_id or "" for message in messages)
        yield replace(session, messages=messages, left_behind=left_behind)


def _name_messages(messages: tuple[ParsedMessage, ...]) -> tuple[ParsedMessage, ...]:
    taken = {message.message_id for message in messages if message.message_id}
    used: set[str] = set()
    anchor, distance = "", 0
    parent_id: str | None = None
    named: list[ParsedMessage] = []
    for index, message in enumerate(messages):
        message_id = message.message_id
        place = None
        if message_id and message_id not in used:
            anchor, distance = message_id, 0
        else:
            distance += 1
            place = index if message.place is None else message.place
            message_id = f"{anchor}~{distance}" if anchor else f"m{place}"
            while message_id in taken:
                message_id += "~"
            taken.add(message_id)
        used.add(message_id)
        parent_id = message.parent_id or parent_id
        if message_id != message.message_id or parent_id != message.parent_id:
            # The constructor takes a third of the time that replace does.
            message = ParsedMessage(  # noqa: PLW2901
                message_id,
                parent_id,
                message.role,
                message.content,
                message.sent_at,
                message.author,
                message.is_partial,
                place,
            )
        named.append(message)
        parent_id = message_id
    return tuple(named)


@dataclass(slots=True)
class SessionNames:
    """Gives ids to the sessions of one import that have none.

    Such a session is named by a keyed digest of its first user message (of its first message if it has none) and an
    ordinal among equals. It keeps the id of the stored one that it is: that which says the same, or is its beginning
    or goes on from it; then that which holds its messages, or else says most of the same in the same order. Only a few
    are compared, found by message ids or by questions that not everybody asks. Each stored session is taken once, so
    that equal ones in one file stay apart; but of a forgotten one every further session that means it is bound.
    """

    hash_key: bytes
    known: KnownSessions = field(default_factory=NoneKnown)
    compared: int = 0
    """How many stored sessions were read to be compared with one of the file."""
    bound: dict[str, str] = field(default_factory=dict)
    """The sessions named last that mean a forgotten one whose id another session of the file has, with that id."""
    _given: set[str] = field(default_factory=set)
    _begun: dict[tuple[str, bool], "_SameOpening"] = field(default_factory=dict)
    _forgotten: dict[str, "_SameOpening"] = field(default_factory=dict)

    def identify(self, sessions: Sequence[ParsedSession]) -> list[ParsedSession]:
        """Return the sessions, whose messages have ids, with an id on each."""
        self._given.update(session.session_id for session in sessions if session.session_id)
        self.bound = {}
        nameless = {number: _has_ids(session) for number, session in enumerate(sessions) if not session.session_id}
        if not nameless:
            return list(sessions)
        openings = {number: self._opening(sessions[number]) for number in nameless}
        begun = self._read_begun(openings, nameless)
        digests = {number: _digests(sessions[number], by_id=by_id) for number, by_id in nameless.items()}
        names: dict[int, str] = {}
        for find in (_SameOpening.equal, _SameOpening.beginning, _SameOpening.continuing):
            for number in [number for number in nameless if number not in names]:
                name = find(begun[openings[number], nameless[number]], digests[number], self._given)
                self._give(names, number, name)
        meant = self._find_candidates(sessions, nameless, openings, names)
        for number, by_id in nameless.items():
            if number in names:
                continue
            opening = openings[number]
            texts = _digests(sessions[number], by_id=False) if by_id else digests[number]
            forgotten = meant.get(number)
            if forgotten is None and opening in self._forgotten:
                forgotten = self._forgotten[opening].meant_by(texts)
            name = forgotten
            if name is None or name in self._given:
                name = begun[opening, by_id].next_name(opening, self._given)
            self._give(names, number, name)
            if forgotten is not None and name != forgotten:
                self.bound[name] = forgotten
        return [
            replace(session, session_id=names[number]) if number in names else session
            for number, session in enumerate(sessions)
        ]

    def _give(self, names: dict[int, str], number: int, name: str | None) -> None:
        if name is not None:
            names[number] = name
            self._given.add(name)

    def _read_begun(
        self, openings: Mapping[int, str], nameless: Mapping[int, bool]
    ) -> Mapping[tuple[str, bool], "_SameOpening"]:
        counts: dict[tuple[str, bool], int] = defaultdict(int)
        for number, by_id in nameless.items():
            # What is forgotten is known by its texts, whatever ids these have.
            for of_ids in {False, by_id}:
                counts[openings[number], of_ids] += 1
        begun = {key: self._begun[key] for key in counts if key in self._begun}
        for by_id in (False, True):
            asked = [opening for opening, of_ids in counts if of_ids is by_id and (opening, by_id) not in begun]
            if asked:
                for opening, known in self.known.begun_with(asked, by_id=by_id).items():
                    begun[opening, by_id] = _SameOpening(known)
                    forgotten = {session_id: each for session_id, each in known.items() if each.is_forgotten}
                    if forgotten and not by_id:
                        # As it was before this import, whatever of it came back meanwhile.
                        self._forgotten.setdefault(opening, _SameOpening(forgotten))
        self._begun.update({key: each for key, each in begun.items() if len(each.known) + counts[key] > _MANY})
        return begun

    def _find_candidates(
        self,
        sessions: Sequence[ParsedSession],
        nameless: Mapping[int, bool],
        openings: Mapping[int, str],
        names: dict[int, str],
    ) -> Mapping[int, str]:
        """Name the sessions that are a stored one which was edited, cut or repaired; the likest are named first.

        Return the forgotten ones that further sessions mean.
        """
        meant: dict[int, str] = {}
        asked = [
            (number, message.message_id or "")
            for number, has_ids in nameless.items()
            if has_ids and number not in names
            for message in sessions[number].messages
            if message.place is None
        ]
        if asked:
            self._take(self._judge(self.known.holding(asked), sessions, openings, _judge_by_ids), names, meant)
        if rest := [number for number in nameless if number not in names and number not in meant]:
            questions = (
                (number, _md5(content))
                for number in rest
                for content in {message.content for message in sessions[number].messages if message.role == "user"}
            )
            self._take(self._judge(self.known.asking(questions), sessions, openings, _judge_by_texts), names, meant)
        return meant

    def _take(self, matches: Iterable["_Match"], names: dict[int, str], meant: dict[int, str]) -> None:
        for match in sorted(matches):
            if match.number in names or match.number in meant:
                continue
            if match.session_id not in self._given:
                self._give(names, match.number, match.session_id)
            elif not match.is_remembered:
                meant[match.number] = match.session_id

    def _judge(
        self,
        candidates: Iterable[Candidate],
        sessions: Sequence[ParsedSession],
        openings: Mapping[int, str],
        judge: "_Judge",
    ) -> Iterator["_Match"]:
        for candidate in candidates:
            if candidate.session_id in self._given and not candidate.is_forgotten:
                continue
            self.compared += 1
            found = judge(candidate, sessions[candidate.number].messages)
            if found is not None:
                agreeing, contradicting = found
                is_another = not candidate.session_id.startswith(openings[candidate.number])
                yield _Match(
                    contradicting,
                    -agreeing,
                    not candidate.is_forgotten,
                    is_another,
                    _ordinal(candidate.session_id),
                    candidate.number,
                    candidate.session_id,
                )

    def _opening(self, session: ParsedSession) -> str:
        messages = session.messages
        opening = next((message for message in messages if message.role == "user"), messages[0])
        return hmac.digest(self.hash_key, _LABEL + opening.content.encode(), "sha256").hex()[:32]


@dataclass(slots=True)
class _SameOpening:
    """The stored sessions of one opening, found by what they say without looking at each."""

    known: Mapping[str, Begun]
    _equal: dict[bytes, list[str]] = field(init=False)
    _lengths: list[int] = field(init=False)
    _sorted: list[tuple[bytes, str]] = field(init=False)
    _first_free: dict[bytes, int] = field(default_factory=dict)
    _unknown: list[str] = field(init=False)
    _ordinal: int = 0

    def __post_init__(self) -> None:
        last_first = sorted(self.known.items(), key=lambda item: _ordinal(item[0]), reverse=True)
        self._equal = defaultdict(list)
        for session_id, (digests, _) in last_first:
            if digests:
                self._equal[digests].append(session_id)
        self._lengths = sorted({len(digests) for digests in self._equal}, reverse=True)
        self._sorted = sorted((digests, session_id) for session_id, (digests, _) in last_first if digests)
        self._unknown = [session_id for session_id, (digests, _) in last_first if digests is None]

    def equal(self, digests: bytes, given: Collection[str]) -> str | None:
        """Return the first free session that says the same."""
        return _last_free(self._equal.get(digests, []), given)

    def beginning(self, digests: bytes, given: Collection[str]) -> str | None:
        """Return the free session that says the longest beginning of it."""
        for length in self._lengths:
            name = self.equal(digests[:length], given) if length < len(digests) else None
            if name is not None:
                return name
        return None

    def continuing(self, digests: bytes, given: Collection[str]) -> str | None:
        """Return a free session that says the same and more."""
        at = self._first_free.get(digests)
        if at is None:
            at = bisect_left(self._sorted, (digests, ""))
        while at < len(self._sorted) and self._sorted[at][1] in given and self._sorted[at][0].startswith(digests):
            at += 1
        self._first_free[digests] = at
        return self._sorted[at][1] if at < len(self._sorted) and self._sorted[at][0].startswith(digests) else None

    def meant_by(self, digests: bytes) -> str | None:
        """Return the session that it says, whole, in part or and more, whoever has its id.

        One of which no text is left may be whatever begins like it.
        """
        return (
            self.equal(digests, ())
            or self.beginning(digests, ())
            or self.continuing(digests, ())
            or _last_free(self._unknown, ())
        )

    def next_name(self, opening: str, given: Collection[str]) -> str:
        """Return an id for a session that is like none.

        What an id was given for and isn't stored any more could be it: a deleted session comes back.
        """
        name = _last_free(self._unknown, given)
        while name is None or name in given or (name in self.known and self.known[name].digests is not None):
            name = f"{opening}-{self._ordinal}"
            self._ordinal += 1
        return name


def _last_free(names: list[str], given: Collection[str]) -> str | None:
    while names and names[-1] in given:
        names.pop()
    return names[-1] if names else None


class _Match(NamedTuple):
    """How like an incoming session is to a stored one; the first of several in order is the best."""

    contradicting: int
    agreeing_less: int
    is_remembered: bool
    begins_otherwise: bool
    ordinal: int
    number: int
    session_id: str


class _Judge(Protocol):
    def __call__(self, candidate: Candidate, said: Sequence[ParsedMessage], /) -> tuple[int, int] | None: ...


def _judge_by_texts(candidate: Candidate, said: Sequence[ParsedMessage]) -> tuple[int, int] | None:
    """Return how many messages agree and contradict, or None for two conversations.

    A greeting and its answer are what two may have in common, so where anything contradicts it takes more than those.
    But a forgotten session returns under no other id, whatever ids its messages have, and no marked message unmarked.
    """
    if candidate.is_forgotten:
        said = [replace(message, place=place) for place, message in enumerate(said)]
    elif _holds_any(candidate, said):
        return None
    alignment = align(candidate.turns, said)
    agreeing, contradicting = alignment.agreeing, alignment.contradicting
    if contradicting:
        is_kept_out = candidate.is_forgotten or alignment.has_marked
        is_same = agreeing > max(contradicting, 2) or (is_kept_out and agreeing >= max(contradicting, 2))
    else:
        is_same = agreeing >= 2 and (alignment.has_exchange or alignment.is_contained)
    return (agreeing, contradicting) if is_same else None


def _holds_any(candidate: Candidate, said: Sequence[ParsedMessage]) -> bool:
    """Say whether a stored session has messages of these ids: by them it was judged already."""
    own = {message.message_id for message in said if message.place is None}
    return bool(own) and any(turn.message_id in own for turn in candidate.turns)


def _judge_by_ids(candidate: Candidate, said: Sequence[ParsedMessage]) -> tuple[int, int] | None:
    """Return how many messages of the same ids agree and contradict, or None for two conversations."""
    stored = {turn.message_id: turn for turn in candidate.turns}
    agreeing = contradicting = 0
    for message in said:
        turn = stored.get(message.message_id or "")
        if turn is None or message.place is not None:
            continue
        if turn.content is None:
            agreeing += len(turn.message_id) >= _BORN_UNIQUE
        elif turn.role == message.role and is_same_text(message.role, turn.content, message.content):
            agreeing += 1
        else:
            contradicting += 1
    return (agreeing, contradicting) if agreeing > contradicting else None


def _has_ids(session: ParsedSession) -> bool:
    return any(message.place is None for message in session.messages)


def _digests(session: ParsedSession, *, by_id: bool) -> bytes:
    """Return the digests of what a session says, as ``find_known_sessions`` makes those of a stored one."""
    return b"".join(
        _md5(
            f"{message.role[0]}{message.message_id}\x1f{message.content}"
            if by_id
            else message.role[0] + message.content
        )
        for message in session.messages
    )


def _md5(text: str) -> bytes:
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


def _ordinal(session_id: str) -> int:
    ordinal = session_id.rpartition("-")[2]
    return int(ordinal) if ordinal.isdecimal() and len(ordinal) < 10 else 10**10
