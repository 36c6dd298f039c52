"""Why a message is in memory or not: the state, the build that decided, and the whole story.

Only ids, counts, hashes and reasons; never a message's text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import psycopg
from psycopg.rows import dict_row, namedtuple_row, tuple_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownMessage
from orbit_pipelines.lineage.former_names import (
    FormerName,
    Name,
    Sighting,
    are_ours,
    read_account_names,
    read_session_names,
)
from orbit_pipelines.model import CHAT_HISTORY, Reason, Store


class EventKind(StrEnum):
    """What a build decided about a pair, or about the source it comes from."""

    SOURCE_INCLUDED = "source_included"
    SOURCE_NOT_INCLUDED = "source_not_included"
    SKIP_ENDED = "skip_ended"
    REMOVED = "removed"
    ADDED = "added"
    UPDATED = "updated"
    SKIPPED = "skipped"


class FlagState(StrEnum):
    """The flag of the pair's user message, and whether builds have taken it in."""

    REMEMBERED = "remembered"
    NOT_REMEMBERED = "not_remembered"
    PENDING_REMOVAL = "pending_removal"
    PENDING_RETURN = "pending_return"


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """One thing one build decided. ``hashes`` are those of the chunks it concerned, where they are still kept.

    ``under``: the former name under which it was decided; None for the present one.
    """

    build_id: int
    publish_order: int | None
    at: datetime | None
    kind: EventKind
    reason: Reason | None
    chunk_count: int = 0
    hashes: tuple[str, ...] = ()
    under: FormerName | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason that holds, and the build that decided it."""

    reason: Reason
    build_id: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of the pair that is in memory; ``under`` a former name, where no build has followed it yet."""

    chunk_index: int
    content_hash: str
    build_id: int
    carries_message: bool
    """Whether the message asked about is a reply that this chunk's pair was stored with."""
    under: FormerName | None = None


@dataclass(frozen=True, slots=True)
class PairFacts:
    """What is true of a pair today, whatever builds have made of it.

    ``flag_is_new``: set, lifted or written since the last build over this person looked. ``run_is_flagged``: it, or
    another user message that the same reply answered, is not to be remembered. The source's status is the one the
    builds found last; None before the first. ``admitted_below``: where an admission rule keeps the session out, the
    number below which its pairs stay.
    """

    is_flagged: bool
    flag_is_new: bool
    run_is_flagged: bool
    pair_deleted_at: datetime | None
    session_is_deleted: bool
    session_forgotten_at: datetime | None
    source_status: str | None
    source_reason: Reason | None
    admitted_below: int | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """All there is to say about one message and memory.

    ``pair_index``, ``source_id``, ``facts`` and ``flag`` are None for a message that belongs to no pair. ``decision``
    is None when no build has decided anything. ``former_names``: the oldest first. ``is_with_another_person``: it was
    theirs at the last build, and memory still has it there.
    """

    store: Store
    session_id: str
    message_id: str
    role: str
    is_active: bool
    deleted_at: datetime | None
    pair_index: int | None
    in_memory: bool = False
    decision: Decision | None = None
    flag: FlagState | None = None
    facts: PairFacts | None = None
    chunks: tuple[StoredChunk, ...] = ()
    events: tuple[StoryEvent, ...] = ()
    former_names: tuple[FormerName, ...] = ()
    is_with_another_person: bool = False

    @property
    def source_id(self) -> str | None:
        """The id of its pair within chat history."""
        return None if self.pair_index is None else f"{self.session_id}:{self.pair_index}"


def why(connection: psycopg.Connection[Any], store: Store, session_id: str, message_id: str) -> Story:
    """Tell whether a message is in memory, why, and what builds decided about it so far.

    A reply is in memory when a chunk of the pair it answers was stored with it; its story is that pair's.

    Raises:
        UnknownMessage: the store has no such message, or no such session.
    """
    key: dict[str, Any] = {"user": store.user_id, "agent": store.agent_id, "session": session_id, "message": message_id}
    with connection.cursor(row_factory=tuple_row) as cursor:
        found = cursor.execute(statement("find_message"), key).fetchone()
    if found is None:
        raise UnknownMessage(_not_found(connection, key))
    role, pair_index, is_active, deleted_at = found
    if pair_index is None:
        return Story(store, session_id, message_id, role, is_active, deleted_at, None)

    key |= {"pair": pair_index, "source": CHAT_HISTORY}
    facts = _read_facts(connection, key)
    names = read_session_names(connection, store, session_id)
    key |= {
        "users": [name.user_id for name in names],
        "agents": [name.agent_id for name in names],
        "source_ids": [f"{name.session_id}:{pair_index}" for name in names],
    }
    stored = _read_chunks(connection, key, names)
    chunks = tuple(chunk for chunk in stored if not _was_anothers(chunk.under))
    events = _read_events(connection, key, names)
    own_events = [event for event in events if not _was_anothers(event.under)]
    in_memory = any(chunk.carries_message for chunk in chunks) if role == "assistant" else bool(chunks)
    return Story(
        store,
        session_id,
        message_id,
        role,
        is_active,
        deleted_at,
        pair_index,
        in_memory=in_memory,
        decision=decide(in_memory, own_events, facts, pair_in_memory=bool(chunks)),
        flag=flag_state(in_memory, own_events, facts),
        facts=facts,
        chunks=chunks,
        events=events,
        former_names=tuple(name.told for name in reversed(names) if name.told is not None),
        is_with_another_person=len(chunks) < len(stored),
    )


def decide(in_memory: bool, events: Sequence[StoryEvent], facts: PairFacts, *, pair_in_memory: bool) -> Decision | None:
    """Return the decision in force, from events in publish order; None when no build has decided.

    In memory, it is the last addition. Out of memory, it is the skip that is still in force; else whichever came later,
    the last removal or the source's leaving. Where only the reply is out, what removed the pair is no answer.
    """
    if in_memory:
        deciding = _last(events, EventKind.ADDED)
    else:
        deciding = _skip_in_force(events)
        if deciding is None and not pair_in_memory:
            removed = _last(events, EventKind.REMOVED)
            left = _last(events, EventKind.SOURCE_NOT_INCLUDED) if facts.source_status == "not_included" else None
            candidates = [event for event in (left, removed) if event is not None]
            deciding = max(candidates, key=lambda event: event.publish_order or 0, default=None)
    if deciding is None or deciding.reason is None:
        return None
    return Decision(deciding.reason, deciding.build_id, deciding.at)


def flag_state(in_memory: bool, events: Sequence[StoryEvent], facts: PairFacts) -> FlagState:
    """Return the flag as it is, or as pending where the last build hasn't seen it."""
    if facts.is_flagged:
        is_pending = in_memory and facts.flag_is_new
        return FlagState.PENDING_REMOVAL if is_pending else FlagState.NOT_REMEMBERED
    skip = _skip_in_force(events)
    is_pending = not in_memory and skip is not None and skip.reason == Reason.NOT_REMEMBERED
    return FlagState.PENDING_RETURN if is_pending else FlagState.REMEMBERED


def _was_anothers(name: FormerName | None) -> bool:
    return name is not None and name.was_anothers


def _last(events: Sequence[StoryEvent], kind: EventKind) -> StoryEvent | None:
    return next((event for event in reversed(events) if event.kind == kind), None)


def _skip_in_force(events: Sequence[StoryEvent]) -> StoryEvent | None:
    skips = [event for event in events if event.kind in (EventKind.SKIPPED, EventKind.SKIP_ENDED)]
    return skips[-1] if skips and skips[-1].kind == EventKind.SKIPPED else None


def _read_facts(connection: psycopg.Connection[Any], key: dict[str, Any]) -> PairFacts:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("read_pair_facts"), key).fetchone()
    if row is None:  # pragma: no cover - the statement starts from a row of its own
        raise UnknownMessage(_not_found(connection, key))
    reason = row.pop("source_reason")
    return PairFacts(**row, source_reason=None if reason is None else Reason(reason))


def _read_chunks(connection: psycopg.Connection[Any], key: dict[str, Any], names: Sequence[Name]) -> list[StoredChunk]:
    return [
        StoredChunk(row.chunk_index, row.content_hash, row.build_id, row.carries_message, name.told)
        for row, name in _read_ours(connection, "read_pair_chunks", key, names)
    ]


def _read_events(
    connection: psycopg.Connection[Any], key: dict[str, Any], names: Sequence[Name]
) -> tuple[StoryEvent, ...]:
    """Return them in the order of publishing; what one build decided, in the order of ``EventKind``."""
    accounts = read_account_names(connection, key["user"])
    people = {**key, "people": [name.user_id for name in accounts]}
    events = [
        StoryEvent(
            row.build_id,
            row.publish_order,
            row.published_at,
            EventKind(row.kind),
            None if row.reason is None else Reason(row.reason),
            row.chunk_count,
            tuple(row.hashes or ()),
            name.told,
        )
        for row, name in (
            *_read_ours(connection, "read_source_events", people, accounts),
            *_read_ours(connection, "read_pair_events", key, names),
        )
    ]
    kinds = list(EventKind)
    return tuple(sorted(events, key=lambda event: (event.publish_order or 0, kinds.index(event.kind))))


def _read_ours(
    connection: psycopg.Connection[Any], query: str, parameters: dict[str, Any], names: Sequence[Name]
) -> list[tuple[Any, Name]]:
    """Run a statement whose rows are each of a build and a name; return those that mean what has these names."""
    with connection.cursor(row_factory=namedtuple_row) as cursor:
        rows: list[Any] = cursor.execute(statement(query), parameters).fetchall()
    sightings = [Sighting(row.place, row.build_id, row.started_at, row.published_at, row.is_ending) for row in rows]
    return [(row, names[row.place]) for row, is_ours in zip(rows, are_ours(sightings, names), strict=True) if is_ours]


def _not_found(connection: psycopg.Connection[Any], key: dict[str, Any]) -> str:
    forgotten = connection.execute(
        "select from memory.tombstone where (user_id, agent_id, session_id) = (%(user)s, %(agent)s, %(session)s)", key
    ).fetchone()
    if forgotten is not None:
        what_next = "That session was forgotten."
    else:
        what_next = _under_new_name(connection, key) or f"List what there is: orbit pairs --user {key['user']} --json"
    return (
        f"No message '{key['message']}' in session '{key['session']}' of user '{key['user']}', agent "
        f"'{key['agent']}'. {what_next}"
    )


def _under_new_name(connection: psycopg.Connection[Any], key: dict[str, Any]) -> str | None:
    """Say where the message is that was in a session of this name; not with whom, where that is another person."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        found = cursor.execute(statement("find_message_under_new_name"), key).fetchone()
    if found is None:
        return None
    user, agent, session, is_of_other = found
    if is_of_other:
        return "Its session belongs to another person now."
    return f"Its session is called '{session}' now, of user '{user}', agent '{agent}'."
