"""The label at each message of a thread and at each record: its state in memory, and why.

One query a thread, however long. The turns are paired and judged by the functions that a build uses.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.other_records import STORED_RECORDS, shape_records
from orbit_pipelines.building.pairing import MESSAGES, pair_messages
from orbit_pipelines.building.verdicts import judge
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.sources.availability import RegisteredSource, SourceStatus, resolve_sources
from orbit_pipelines.telling.standing import Standing, State, decide_standing, facts_of
from orbit_pipelines.telling.wording import Wording, as_sentence

_TURNS = pl.Schema(
    {
        **MESSAGES,
        "handle": pl.String(),
        "is_flag_new": pl.Boolean(),
        "thread": pl.String(),
    }
)
_RECORDS = pl.Schema(
    {
        **STORED_RECORDS,
        "is_flag_new": pl.Boolean(),
        "origin": pl.String(),
        "is_stored": pl.Boolean(),
        "thread": pl.String(),
    }
)
_SESSION = ("user_id", "agent_id", "session_id")


@dataclass(frozen=True, slots=True)
class LabelText:
    """A label as people read it: the tag, when it takes effect (or nothing), and whatever else is to be said."""

    tag: str
    timing: str | None
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = self.tag if self.timing is None else f"{self.tag}, {self.timing}"
        return ". ".join((head, *self.details))


@dataclass(frozen=True, slots=True)
class Label:
    """What is to be said of one user message or record.

    Attributes:
        item_id: the message's own id, or the record's source_id.
        source_key: chat history for a message.
        is_excluded: whether its eye is closed: ``not_remembered``, or a record's ``is_excluded``.
        is_flag_pending: no build has taken in the flag as it is now.
        standing: its state, and why.
        limit: the plan's cap, which the wording of ``source_over_cap`` names.
        remaining_blinks: how many blinks caught from its reply remain, each under its own eye, though the reply is not
            remembered.
        origin: of a record, why memory hasn't the session that it was taken from.
    """

    item_id: str
    source_key: str
    is_excluded: bool
    is_flag_pending: bool
    standing: Standing
    limit: int = 0
    remaining_blinks: int = 0
    origin: Reason | None = None

    @property
    def state(self) -> State:
        """The state, as the JSON answers name it."""
        return self.standing.state

    def text(self, wording: Wording) -> LabelText:
        """Return the label in words."""
        standing = self.standing
        details = []
        if standing.reason is not None:
            details.append(wording.why_out(self.source_key, standing.reason, limit=self.limit))
        if standing.reply is not None:
            details.append(as_sentence(wording(f"label.{standing.reply.value}")))
        if standing.is_text_pending:
            details.append(as_sentence(wording("label.text_changes")))
        if self.remaining_blinks:
            details.append(wording("label.blinks_remain", count=self.remaining_blinks))
        if (key := self._origin_key()) is not None:
            details.append(wording(key))
        tag, timing = _head(self.is_excluded, standing.state)
        return LabelText(
            wording(f"label.{tag}"), None if timing is None else wording(f"label.{timing}"), tuple(details)
        )

    def _origin_key(self) -> str | None:
        if self.is_excluded:
            return "label.origin_forgotten_out" if self.origin is Reason.SESSION_FORGOTTEN else None
        if self.origin is None or self.state not in (State.REMEMBERED, State.PENDING):
            return None
        return "label.origin_forgotten" if self.origin is Reason.SESSION_FORGOTTEN else "label.origin_not_admitted"


def _head(is_excluded: bool, state: State) -> tuple[str, str | None]:
    """Return the keys of the tag and of its timing."""
    if is_excluded:
        return "not_remembered", "from_next_build" if state is State.PENDING_REMOVAL else "already_out"
    heads: Mapping[State, tuple[str, str | None]] = {
        State.REMEMBERED: ("remembered", None),
        State.PENDING: ("remembered", "from_next_build"),
        State.PENDING_REMOVAL: ("leaves_memory", "at_next_build"),
        State.NOT_REMEMBERED: ("not_in_memory", None),
    }
    return heads[state]


def labels_of(connection: psycopg.Connection[Any], user_id: str, agent_id: str, session_id: str) -> dict[str, Label]:
    """Return the label of every user message of a thread that still exists, by its handle, in their order.

    Empty where the person has no such session. One query.
    """
    key = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
    turns = read_frame(connection, statement("read_thread_states"), key, _TURNS)
    if turns.is_empty():
        return {}
    thread = json.loads(turns["thread"][0])
    broken = turns.select(*_SESSION).head(int(thread["is_broken"]))
    sources = _sources(thread)
    judged = judge(pair_messages(turns.select(*MESSAGES)), _as_frame(user_id, sources), broken)
    asked = turns.filter((pl.col("role") == "user") & pl.col("absence").is_null()).select(
        "message_id", "handle", "position", "is_flag_new"
    )
    stored = pl.DataFrame(
        list((thread["stored"] or {}).items()),
        schema={"source_id": pl.String, "is_reply_stored": pl.Boolean},
        orient="row",
    ).with_columns(pl.lit(value=True).alias("is_stored"))
    present = (
        judged.filter(pl.col("absence").is_null())
        .join(asked, on="message_id")
        .join(stored, on="source_id", how="left")
        .with_columns(pl.col("is_stored", "is_reply_stored").fill_null(value=False))
    )
    rows = with_runs(present).sort("position", "message_id")
    blinks = Counter((agent_id, session_id, origin) for origin in thread["blinks"] or ())
    return {row["handle"]: label_of(row, thread["included_sources"], blinks) for row in rows.iter_rows(named=True)}


def record_labels_of(
    connection: psycopg.Connection[Any], user_id: str, agent_id: str, source_key: str
) -> dict[str, Label]:
    """Return the label of every record that a store has of a source, by its source_id. One query."""
    key = {"user_id": user_id, "agent_id": agent_id, "source_key": source_key}
    records = read_frame(connection, statement("read_record_states"), key, _RECORDS)
    if records.is_empty():
        return {}
    about = json.loads(records["thread"][0])
    no_sessions = pl.DataFrame(schema=dict.fromkeys(_SESSION, pl.String))
    judged = judge(shape_records(records.select(*STORED_RECORDS)), _as_frame(user_id, _sources(about)), no_sessions)
    rows = with_runs(judged.join(records.select("source_id", "is_flag_new", "origin", "is_stored"), on="source_id"))
    return {
        row["source_id"]: label_of(row, about["included_sources"])
        for row in rows.sort("source_id").iter_rows(named=True)
    }


Exchange = tuple[str, str, str]
"""Agent, session and message id of a reply."""


def with_runs(records: pl.DataFrame) -> pl.DataFrame:
    """Return judged records with what is true of the whole run of each; a record that is no message has no run.

    Args:
        records: ``verdicts.JUDGED`` and what memory has of each: ``is_stored``, and ``is_reply_stored`` for messages.
    """
    has_run = pl.col("run_index").is_not_null()
    run = pl.struct("agent_id", "session_id", "run_index")
    if "is_reply_stored" not in records.columns:
        records = records.with_columns(pl.lit(value=False).alias("is_reply_stored"))
    return records.with_columns(
        (has_run & pl.col("is_reply_stored").any().over(run)).alias("is_run_reply_stored"),
        pl.when(has_run).then(pl.col("reply_message_ids").list.explode().implode().over(run)).alias("run_reply_ids"),
    )


def label_of(row: Mapping[str, Any], limit: int, blinks: Mapping[Exchange, int] | None = None) -> Label:
    """Return the label of one row of ``with_runs`` that has ``is_flag_new`` as well.

    Args:
        row: the judged record; ``origin`` may be in it.
        limit: the plan's cap.
        blinks: how many blinks were caught from each reply, excluded ones not counted.
    """
    is_reply_unremembered = row["is_excluded"] or row["is_run_excluded"]
    is_message = row["source_key"] == CHAT_HISTORY
    caught = ((row["agent_id"], row["session_id"], reply) for reply in dict.fromkeys(row["run_reply_ids"] or ()))
    return Label(
        item_id=row["message_id"] if is_message else row["source_id"],
        source_key=row["source_key"],
        is_excluded=row["is_excluded"],
        is_flag_pending=row["is_flag_new"],
        standing=decide_standing(facts_of(row)),
        limit=limit,
        remaining_blinks=sum((blinks or {}).get(each, 0) for each in caught) if is_reply_unremembered else 0,
        origin=Reason(row["origin"]) if row.get("origin") else None,
    )


def _sources(about: Mapping[str, Any]) -> tuple[SourceStatus, ...]:
    rows = about["sources"] or ()
    registry = [RegisteredSource(*row[:5]) for row in rows]
    assignments = {row[0]: row[5] for row in rows if row[5] is not None}
    return resolve_sources(registry, assignments, about["included_sources"])


def _as_frame(user_id: str, sources: Sequence[SourceStatus]) -> pl.DataFrame:
    return pl.DataFrame(
        [(user_id, status.source_key, status.reason) for status in sources],
        schema={"user_id": pl.String, "source_key": pl.String, "source_reason": pl.String},
        orient="row",
    )
