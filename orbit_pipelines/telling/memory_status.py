"""Memory Status: what memory has of a person, what their next build will do, and what stays out, from one truth.

Sources and reasons come from ``resolve_build_sources``; every record is extracted, paired and judged as a build does
it, and stands where its label says it stands.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl
import psycopg
from psycopg.rows import dict_row

from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.states import judge_records
from orbit_pipelines.building.verdicts import SKIPPED_REASONS
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.history.recalled import beginning
from orbit_pipelines.model import CHAT_HISTORY, Mode, Reason
from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.sources.blinks import BLINKS_SOURCE
from orbit_pipelines.sources.resolution import read_registry, resolve_build_sources
from orbit_pipelines.telling.labels import Label, label_of, with_runs
from orbit_pipelines.telling.standing import ReplyState, Standing, State, decide_standing, facts_of

LONGEST_BEGINNING = 160

_STORED = pl.Schema(
    {
        **dict.fromkeys(SOURCE, pl.String()),
        "chunks": pl.Int64(),
        "characters": pl.Int64(),
        "is_reply_stored": pl.Boolean(),
    }
)


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """One source of a person: its status, what memory has from it, and what the next build does with it.

    ``records`` are pairs of chat history, else blinks, documents, facts. ``changes``: in memory and staying, but with
    another text or reply. ``skipped``: what stays out and why, most first; a pair of which only the reply stays out
    counts for ``reply_not_remembered``.
    """

    source_key: str
    title: str
    reason: Reason | None
    records: int = 0
    chunks: int = 0
    characters: int = 0
    additions: int = 0
    removals: int = 0
    changes: int = 0
    skipped: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def is_included(self) -> bool:
        """Whether records of this source enter memory."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class LastBuild:
    """The last build that covered the person."""

    build_id: int
    mode: Mode
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class NotRemembered:
    """A message that is not to be remembered, and the way back to it.

    ``beginning`` is how it begins, recalled memory left out. Where it isn't ``is_active``, its conversation goes on
    without it, and no thread shows it.
    """

    handle: str
    agent_id: str
    session_id: str
    message_id: str
    title: str | None
    beginning: str
    sent_at: datetime | None
    is_active: bool
    label: Label


@dataclass(frozen=True, slots=True)
class ExcludedRecord:
    """A blink, document or fact that is kept out by its own eye."""

    agent_id: str
    source_key: str
    source_id: str
    title: str | None
    beginning: str
    recorded_at: datetime
    label: Label


@dataclass(frozen=True, slots=True)
class ForgottenSession:
    """A session that was forgotten; ``is_there``: it can still be read."""

    agent_id: str
    session_id: str
    title: str | None
    is_there: bool
    forgotten_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """All that the page says. ``sources`` are in registry order; ``last_build`` is None before the first."""

    user_id: str
    sources: tuple[SourceMemory, ...]
    last_build: LastBuild | None
    not_remembered: tuple[NotRemembered, ...]
    excluded_records: tuple[ExcludedRecord, ...]
    forgotten_sessions: tuple[ForgottenSession, ...]

    @property
    def limit(self) -> int:
        """The plan's cap, where a source is left out by it: the others have filled it."""
        return sum(source.is_included for source in self.sources)

    @property
    def additions(self) -> int:
        """How many records the next build adds."""
        return sum(source.additions for source in self.sources)

    @property
    def removals(self) -> int:
        """How many records the next build removes."""
        return sum(source.removals for source in self.sources)

    @property
    def changes(self) -> int:
        """How many records the next build changes."""
        return sum(source.changes for source in self.sources)

    @property
    def is_waiting(self) -> bool:
        """Whether the next build has anything to do here."""
        return bool(self.additions or self.removals or self.changes)


def memory_status(connection: psycopg.Connection[Any], user_id: str) -> MemoryStatus:
    """Return how memory stands for one person, all their agents together.

    Args:
        connection: reads in one statement after another; only inside a REPEATABLE READ transaction are they one moment,
            and do the counts agree.
        user_id: the person.

    Raises:
        UnknownAccount: no such account.
    """
    statuses = resolve_build_sources(connection, user_id)
    last_build, followed = _read_last_build(connection, user_id)
    key = {"user_id": user_id, "recheck_snapshot": followed.recheck_snapshot}
    stored = read_frame(connection, statement("read_stored_records"), key, _STORED)
    judged = _with_memory(judge_records(connection, user_id, since=followed.snapshot, statuses=statuses), stored)
    records = {_key(row): (row, decide_standing(facts_of(row))) for row in judged.iter_rows(named=True)}
    titles = {source.source_key: source.title for source in read_registry(connection)}
    limit = sum(status.is_included for status in statuses)
    return MemoryStatus(
        user_id=user_id,
        sources=tuple(
            _source_memory(status, titles.get(status.source_key, status.source_key), records, stored)
            for status in statuses
        ),
        last_build=last_build,
        not_remembered=tuple(_not_remembered(_rows(connection, "list_flagged_messages", key), records, limit)),
        excluded_records=tuple(_excluded_records(_rows(connection, "list_excluded_records", key), records, limit)),
        forgotten_sessions=tuple(ForgottenSession(**row) for row in _rows(connection, "list_forgotten_sessions", key)),
    )


_Records = Mapping[tuple[str, str, str], tuple[Mapping[str, Any], Standing]]
"""(agent, source, record) → its row and where it stands."""


def _source_memory(status: SourceStatus, title: str, records: _Records, stored: pl.DataFrame) -> SourceMemory:
    kept = stored.filter(pl.col("source_key") == status.source_key)
    ours = {key: value for key, value in records.items() if key[1] == status.source_key}
    gone = sum((agent, source, record) not in ours for _, agent, source, record, *_ in kept.iter_rows())
    states = Counter(standing.state for row, standing in ours.values() if row["is_stored"] or not _leaves(standing))
    skipped = Counter(reason for row, standing in ours.values() for reason in _skips(row, standing))
    return SourceMemory(
        source_key=status.source_key,
        title=title,
        reason=status.reason,
        records=kept.height,
        chunks=int(kept["chunks"].sum()),
        characters=int(kept["characters"].sum()),
        additions=states[State.PENDING],
        removals=states[State.PENDING_REMOVAL] + gone,
        changes=sum(_changes(standing) for _, standing in ours.values()),
        skipped=dict(sorted(skipped.items(), key=lambda each: (-each[1], each[0]))),
    )


def _leaves(standing: Standing) -> bool:
    return standing.state is State.PENDING_REMOVAL


def _changes(standing: Standing) -> bool:
    is_reply_moving = standing.reply in (ReplyState.LEAVES, ReplyState.JOINS)
    return standing.state is State.REMEMBERED and (is_reply_moving or standing.is_text_pending)


def _skips(row: Mapping[str, Any], standing: Standing) -> Iterator[Reason]:
    if row["verdict"] in SKIPPED_REASONS:
        yield Reason(row["verdict"])
    elif row["reply_verdict"] is not None and standing.reply is not None:
        yield Reason(row["reply_verdict"])


def _with_memory(judged: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return the records that still exist, with what memory has of them."""
    return with_runs(
        judged.filter(pl.col("absence").is_null())
        .join(stored.with_columns(pl.lit(value=True).alias("is_stored")), on=SOURCE, how="left")
        .with_columns(pl.col("is_stored", "is_reply_stored").fill_null(value=False))
    )


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["agent_id"], row["source_key"], row["source_id"]


def _not_remembered(flagged: Iterable[dict[str, Any]], records: _Records, limit: int) -> Iterator[NotRemembered]:
    blinks = Counter(
        (row["agent_id"], row["session_id"], row["message_id"])
        for row, _ in records.values()
        if row["source_key"] == BLINKS_SOURCE and row["message_id"] is not None and not row["is_excluded"]
    )
    of_message = {
        (row["agent_id"], row["session_id"], row["message_id"]): row
        for row, _ in records.values()
        if row["source_key"] == CHAT_HISTORY
    }
    for message in flagged:
        is_flag_new = message.pop("is_flag_new")
        message["beginning"] = beginning(message["beginning"], LONGEST_BEGINNING)
        row = of_message.get((message["agent_id"], message["session_id"], message["message_id"]))
        if row is not None:
            yield NotRemembered(**message, label=label_of({**row, "is_flag_new": is_flag_new}, limit, blinks))


def _excluded_records(excluded: Iterable[dict[str, Any]], records: _Records, limit: int) -> Iterator[ExcludedRecord]:
    for record in excluded:
        told = {name: record.pop(name) for name in ("is_flag_new", "origin")}
        record["beginning"] = beginning(record["beginning"], LONGEST_BEGINNING)
        if (found := records.get(_key(record))) is not None:
            yield ExcludedRecord(**record, label=label_of({**found[0], **told}, limit))


@dataclass(frozen=True, slots=True)
class _Followed:
    """Up to which moments memory follows a person: their text, and their flags. None where it doesn't."""

    snapshot: str | None = None
    recheck_snapshot: str | None = None


def _read_last_build(connection: psycopg.Connection[Any], user_id: str) -> tuple[LastBuild | None, _Followed]:
    row = connection.execute(statement("read_last_build"), {"user_id": user_id}).fetchone()
    if row is None:
        return None, _Followed()
    build_id, mode, ended_at, *snapshots = row
    return LastBuild(build_id, Mode(mode), ended_at), _Followed(*snapshots)


def _rows(connection: psycopg.Connection[Any], name: str, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement(name), key).fetchall()
