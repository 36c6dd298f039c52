"""Where each pair and record of a person stands: in memory or not, and what their next build will do.

Nothing here is remembered or guessed: the same extraction, pairing and verdicts that a build uses are taken from the
current state and compared with what is stored.
"""

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl
import psycopg

from orbit_pipelines.building.admissions import kept_out_of, read_admissions
from orbit_pipelines.building.diff import SOURCE
from orbit_pipelines.building.extraction import QUARANTINED, as_it_is_now
from orbit_pipelines.building.other_records import STORED_RECORDS, shape_records
from orbit_pipelines.building.pairing import MESSAGES, pair_messages
from orbit_pipelines.building.reasons import reason_of_return
from orbit_pipelines.building.scope import Extent
from orbit_pipelines.building.verdicts import JUDGED, judge
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Store
from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.sources.resolution import resolve_build_sources

State = Literal["remembered", "pending_removal", "not_remembered", "pending_return", "pending"]

STATES = pl.Schema({**JUDGED, "state": pl.String(), "reason": pl.String()})
"""Judged records with their state.

``remembered``: in memory and stays. ``pending_removal``: in memory, the next build removes it; of a message
whose eye is closed and that has no words of its own, as long as the reply to its run is there. ``not_remembered``: not
in memory, and the next build won't add it. ``pending_return``: the next build adds it, after an earlier one skipped or
removed it. ``pending``: no build has covered it yet and the next adds it. ``reason`` is why it is or will be so; null
for what is simply remembered, ``reply_not_remembered`` where only the reply stays out.
"""

_COVERED = pl.Schema({**dict.fromkeys(SOURCE, pl.String()), "was_out": pl.String(), "is_covered": pl.Boolean()})
_STORED = pl.Schema(
    {
        **dict.fromkeys(SOURCE, pl.String()),
        "chunks": pl.Int64(),
        "characters": pl.Int64(),
        "is_reply_stored": pl.Boolean(),
    }
)


def record_states(connection: psycopg.Connection[Any], user_id: str) -> pl.DataFrame:
    """Return ``STATES`` for all pairs and records of a person whose originals still exist, in no particular order.

    Args:
        connection: reads in one statement after another; inside a REPEATABLE READ transaction they are one moment.
        user_id: the person; all their agents' stores.

    Raises:
        UnknownAccount: no such account.
    """
    judged = judge_records(connection, user_id)
    who = {"user_id": user_id}
    stored = read_frame(connection, statement("read_stored_records"), who, _STORED)
    covered = read_frame(connection, statement("read_covered_sources"), who, _COVERED)
    return (
        judged.filter(pl.col("absence").is_null())
        .join(stored.with_columns(pl.lit(value=True).alias("is_stored")), on=SOURCE, how="left")
        .join(covered, on=SOURCE, how="left")
        .with_columns(state_of_record().alias("state"))
        .with_columns(
            pl.when(pl.col("state") == "remembered")
            .then("reply_verdict")
            .when(pl.col("verdict").is_not_null())
            .then("verdict")
            .otherwise(reason_of_return(pl.col("was_out")))
            .alias("reason")
        )
        .select(*STATES)
    )


def judge_records(
    connection: psycopg.Connection[Any],
    user_id: str,
    *,
    since: str | None = None,
    statuses: Sequence[SourceStatus] | None = None,
) -> pl.DataFrame:
    """Return ``JUDGED`` for all pairs and records of a person, as their next build would judge them.

    Args:
        connection: reads in one statement after another; inside a REPEATABLE READ transaction they are one moment.
        user_id: the person; all their agents' stores.
        since: the snapshot that ``is_content_changed`` compares with; without one it is null.
        statuses: the person's sources, where the caller has resolved them.

    Raises:
        UnknownAccount: no such account.
    """
    resolved = resolve_build_sources(connection, user_id) if statuses is None else statuses
    sources = pl.DataFrame(
        [(user_id, status.source_key, status.reason) for status in resolved],
        schema={"user_id": pl.String, "source_key": pl.String, "source_reason": pl.String},
        orient="row",
    )
    parameters = as_it_is_now(Extent(is_everything=False, whole_users=(user_id,)), with_kept_out=True, since=since)
    parameters |= kept_out_of(read_admissions(connection, parameters))
    messages = read_frame(connection, statement("extract_messages"), parameters, MESSAGES)
    records = read_frame(connection, statement("extract_records"), parameters, STORED_RECORDS)
    quarantined = read_frame(connection, statement("find_broken_sessions"), parameters, QUARANTINED)
    return judge(pl.concat([pair_messages(messages), shape_records(records)]), sources, quarantined)


def pair_states(connection: psycopg.Connection[Any], store: Store) -> pl.DataFrame:
    """Return the pairs of one store with their states, in session and pair order.

    Returns:
        ``session_id``, ``pair_index``, ``source_id``, ``message_id``, ``user_text``, ``reply_text`` (null when
        unanswered), ``state``, ``reason``.

    Raises:
        UnknownAccount: no such account.
    """
    return (
        record_states(connection, store.user_id)
        .filter((pl.col("source_key") == CHAT_HISTORY) & (pl.col("agent_id") == store.agent_id))
        .sort("session_id", "pair_index")
        .select(
            "session_id",
            "pair_index",
            "source_id",
            "message_id",
            pl.col("own_text").alias("user_text"),
            "reply_text",
            "state",
            "reason",
        )
    )


def state_of_record() -> pl.Expr:
    """Return the state of a judged record that knows what of it is stored, and whether a build has covered it."""
    is_reply_there = pl.col("is_reply_stored").fill_null(value=False).any().over("agent_id", "session_id", "run_index")
    is_of_run = pl.col("is_excluded") & pl.col("run_index").is_not_null() & is_reply_there
    is_stored = pl.col("is_stored").fill_null(value=False) | is_of_run
    is_wanted = pl.col("verdict").is_null()
    return (
        pl.when(is_stored & is_wanted)
        .then(pl.lit("remembered"))
        # What breaks the contract is quarantined: nothing new of it enters, and what is there stays.
        .when(is_stored & (pl.col("verdict") == "contract_broken"))
        .then(pl.lit("remembered"))
        .when(is_stored)
        .then(pl.lit("pending_removal"))
        .when(~is_wanted)
        .then(pl.lit("not_remembered"))
        .when(pl.col("is_covered").fill_null(value=False))
        .then(pl.lit("pending_return"))
        .otherwise(pl.lit("pending"))
    )
