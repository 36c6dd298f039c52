"""What is staged may pass: nothing excluded, no number that moved. Looked at before anything is embedded."""

from collections.abc import Iterable
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.diff import PLACE, SOURCE
from orbit_pipelines.building.pairing import source_id
from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.staged_parts import STAGED_CHUNKS, StagedPart
from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, OriginClass

_PAIR_TYPES = {**dict.fromkeys((*SESSION_KEY, "message_id", "source_id"), "text")}


def no_excluded_pair_is_staged(parts: Iterable[StagedPart]) -> Finding:
    """Whether no chunk comes from an excluded message, reply or record.

    Worked out from the messages' and records' own flags, not from the verdicts that made the chunks.
    """
    seen = {"chunks": 0, "excluded_messages": 0, "excluded_records": 0}
    failures = {"of_excluded_pairs": 0, "with_replies_to_excluded_messages": 0, "of_excluded_records": 0}
    examples: list[str] = []
    for part in parts:
        seen["chunks"] += part.chunks.height
        seen["excluded_messages"] += _flagged(part.messages).height
        seen["excluded_records"] += part.records.filter("is_excluded").height
        for kind, chunks in (
            ("of_excluded_pairs", _of_excluded_pairs(part)),
            ("with_replies_to_excluded_messages", _with_excluded_replies(part)),
            ("of_excluded_records", _of_excluded_records(part)),
        ):
            failures[kind] += chunks.height
            examples.extend(name_of(*key) for key in chunks.select(*SOURCE).iter_rows())
    return find("no_excluded_pair_is_staged", failures=failures, seen=seen, examples=examples)


def source_ids_stay_stable(connection: psycopg.Connection[Any], parts: Iterable[StagedPart]) -> Finding:
    """Whether every staged pair has the number the ledger gave its message, and memory knows it by no other.

    Args:
        connection: in autocommit, or in a transaction of the caller's.
        parts: what is staged; pairs that stay out are not looked at, their sessions may be in quarantine.
    """
    chunks = pl.concat([pl.DataFrame(schema=STAGED_CHUNKS), *(part.chunks for part in parts)])
    twice = chunks.filter(chunks.select(*PLACE).is_duplicated())
    pairs = chunks.filter(pl.col("source_key") == CHAT_HISTORY).select(*_PAIR_TYPES).unique()
    with connection.transaction(force_rollback=True):
        connection.execute(
            'create temp table staged_pair (user_id text collate "C", agent_id text collate "C",'
            ' session_id text collate "C", message_id text collate "C", source_id text collate "C") on commit drop'
        )
        copy_frame(connection, "staged_pair", pairs, _PAIR_TYPES)
        connection.execute("analyze staged_pair")
        rows = connection.execute(statement("check_source_ids")).fetchall()
    failures = {"not_as_in_the_ledger": 0, "moved": 0, "taken_from_another": 0, "staged_twice": twice.height}
    for problem, *_ in rows:
        failures[problem] += 1
    return find(
        "source_ids_stay_stable",
        failures=failures,
        seen={"pairs": pairs.height},
        examples=[
            *(name_of(*key) for _, *key in rows),
            *(name_of(*key) for key in twice.select(*PLACE).iter_rows()),
        ],
    )


def _flagged(messages: pl.DataFrame) -> pl.DataFrame:
    return messages.filter((pl.col("role") == "user") & pl.col("not_remembered"))


def _chat(part: StagedPart) -> pl.DataFrame:
    return part.chunks.filter(pl.col("source_key") == CHAT_HISTORY)


def _of_excluded_pairs(part: StagedPart) -> pl.DataFrame:
    flagged = _flagged(part.messages).select(*SESSION_KEY, "message_id", source_id().alias("source_id"))
    chat = _chat(part)
    return pl.concat(
        [
            chat.join(flagged, on=("user_id", "agent_id", "source_id"), how="semi"),
            chat.join(flagged, on=(*SESSION_KEY, "message_id"), how="semi"),
        ]
    ).unique(PLACE)


def _with_excluded_replies(part: StagedPart) -> pl.DataFrame:
    runs = _flagged(part.messages).filter("is_active").select(*SESSION_KEY, "run_index").unique()
    members = (
        part.messages.filter(pl.col("role") == "user")
        .join(runs, on=(*SESSION_KEY, "run_index"), how="semi")
        .select(*SESSION_KEY, "pair_index", source_id().alias("source_id"))
    )
    replies = (
        part.messages.filter(pl.col("role") == "assistant")
        .join(members, left_on=(*SESSION_KEY, "answers"), right_on=(*SESSION_KEY, "pair_index"), how="semi")
        .select(*SESSION_KEY, pl.col("message_id").alias("held_id"))
    )
    chat = _chat(part)
    held = (
        chat.select(*PLACE, "session_id", pl.col("reply_message_ids").alias("held_id"))
        .filter(pl.col("held_id").list.len() > 0)
        .explode("held_id")
        .join(replies, on=(*SESSION_KEY, "held_id"), how="semi")
    )
    # Whoever forgot to name the reply can't have hidden whose words they are.
    spoken = chat.filter(pl.col("spans").str.contains(f'"{OriginClass.AGENT.value}"', literal=True)).join(
        members, on=("user_id", "agent_id", "source_id"), how="semi"
    )
    return pl.concat([held.select(*PLACE), spoken.select(*PLACE)]).unique()


def _of_excluded_records(part: StagedPart) -> pl.DataFrame:
    return part.chunks.join(part.records.filter("is_excluded"), on=SOURCE, how="semi")
