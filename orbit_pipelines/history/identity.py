"""Ids for what an export names by none: from content and place, never from a path, a line or anything that grows.

A file that was moved, renamed or continued gives the same ids again, so that it appends instead of duplicating, and a
forgotten session doesn't return under another name.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from orbit_pipelines.history.stream import ParsedMessage, ParsedSession

_LABEL = b"session id\0"
"""Sets these digests apart from content hashes under the same key: no stored text holds a NUL."""

Outline = Mapping[str, bytes]
"""What a session says: a digest of each message's text (MD5, which PostgreSQL has too) by the message's id."""

FindKnown = Callable[[Collection[str]], Mapping[str, Mapping[str, Outline]]]
"""Told the digests of openings, returns every id ever given after each, with what is still stored under it."""


def find_none(openings: Collection[str]) -> Mapping[str, Mapping[str, Outline]]:
    """Know nothing, as a store does that nothing was imported into."""
    return {opening: {} for opening in openings}


def identify_messages(sessions: Iterable[ParsedSession]) -> Iterator[ParsedSession]:
    """Yield the sessions with an id on every message; one with neither id nor messages can't be named and is left out.

    A message without an id is named by its place: ``m<index>``, or, after a message that has an id of its own, by
    that id and the distance (``<id>~1``), because an export that names some of its messages may later drop its head.
    A repeated id counts as none.
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
    for place, message in enumerate(messages):
        message_id = message.message_id
        if message_id and message_id not in used:
            anchor, distance = message_id, 0
        else:
            distance += 1
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
            )
        named.append(message)
        parent_id = message_id
    return tuple(named)


class _Match(NamedTuple):
    """How like an incoming session is to a stored one; the first of several in order is the best."""

    disagreeing: int
    agreeing_less: int
    ordinal: int
    place: int
    session_id: str


@dataclass(slots=True)
class SessionNames:
    """Gives ids to the sessions of one import that have none.

    Such a session is named by a keyed digest of its first user message (of its first message if it has none) and an
    ordinal among equals. It keeps the id of the stored one that says the same, or said it before it was edited or went
    on; else it gets an ordinal of its own, in the order of the file. So equal openings in one file, in another order,
    or in files imported one by one, don't run into each other.
    """

    hash_key: bytes
    find_known: FindKnown = find_none
    _given: set[str] = field(default_factory=set)

    def identify(self, sessions: Sequence[ParsedSession]) -> list[ParsedSession]:
        """Return the sessions, whose messages have ids, with an id on each."""
        nameless: dict[str, list[int]] = defaultdict(list)
        for place, session in enumerate(sessions):
            if not session.session_id:
                nameless[self._opening(session)].append(place)
        if not nameless:
            return list(sessions)
        known = self.find_known(nameless.keys())
        names: dict[int, str] = {}
        for opening, places in nameless.items():
            incoming = {place: _outline(sessions[place]) for place in places}
            names |= self._match(incoming, known.get(opening, {}), opening)
        return [
            replace(session, session_id=names[place]) if place in names else session
            for place, session in enumerate(sessions)
        ]

    def _match(self, incoming: Mapping[int, Outline], known: Mapping[str, Outline], opening: str) -> dict[int, str]:
        free = {session_id: outline for session_id, outline in known.items() if session_id not in self._given}
        matches = sorted(
            match
            for session_id, stored in free.items()
            for place, said in incoming.items()
            if (match := _compare(stored, said, _ordinal(session_id), place, session_id)) is not None
        )
        names: dict[int, str] = {}
        for match in matches:
            if match.place not in names and match.session_id not in self._given:
                names[match.place] = match.session_id
                self._given.add(match.session_id)
        # What an id was given for and isn't stored any more could be any of the rest: a deleted session comes back.
        unknown = iter(sorted((each for each, outline in free.items() if not outline), key=_ordinal))
        ordinal = -1
        for place in sorted(incoming.keys() - names.keys()):
            name = next((each for each in unknown if each not in self._given), None)
            while name is None or name in self._given:
                ordinal += 1
                candidate = f"{opening}-{ordinal}"
                name = candidate if candidate not in known else None
            names[place] = name
            self._given.add(name)
        return names

    def _opening(self, session: ParsedSession) -> str:
        messages = session.messages
        opening = next((message for message in messages if message.role == "user"), messages[0])
        return hmac.digest(self.hash_key, _LABEL + opening.content.encode(), "sha256").hex()[:32]


def _outline(session: ParsedSession) -> Outline:
    return {
        message.message_id or "": hashlib.md5(message.content.encode(), usedforsecurity=False).digest()
        for message in session.messages
    }


def _ordinal(session_id: str) -> int:
    ordinal = session_id.rpartition("-")[2]
    return int(ordinal) if ordinal.isdecimal() and len(ordinal) < 10 else 10**10


def _compare(stored: Outline, said: Outline, ordinal: int, place: int, session_id: str) -> _Match | None:
    """Return how like they are, or None where they are two conversations.

    They begin alike. Where they share fewer than two places more, they may be one that was edited; beyond that, most
    of what they share must be the same.
    """
    shared = stored.keys() & said.keys()
    agreeing = sum(stored[each] == said[each] for each in shared)
    disagreeing = len(shared) - agreeing
    if not shared or (len(shared) > 2 and disagreeing >= agreeing):
        return None
    return _Match(disagreeing, -agreeing, ordinal, place, session_id)
