"""What stays out of memory, and why: one verdict a record, one for its reply. Pure.

Where several reasons hold, the first of DESIGN.md's order counts: forgotten, deleted, excluded, source, admission,
branch; then what only its content tells.
"""

import polars as pl

from orbit_pipelines.building.pairing import RECORDS
from orbit_pipelines.model import CHAT_HISTORY, Reason

SKIPPED_REASONS = tuple(
    reason.value
    for reason in (
        Reason.NOT_REMEMBERED,
        Reason.REPLY_NOT_REMEMBERED,
        Reason.RECORD_EXCLUDED,
        Reason.SESSION_FORGOTTEN,
        Reason.NOT_ADMITTED,
        Reason.NO_TEXT,
        Reason.RECALLED_BLOCK,
        Reason.CONTRACT_BROKEN,
        Reason.SOURCE_SWITCHED_OFF,
        Reason.SOURCE_NOT_ASSIGNED,
        Reason.SOURCE_OVER_CAP,
    )
)
"""Verdicts that ``memory.skipped`` tells; a deleted message or one off its branch is just not there."""


JUDGED = pl.Schema({**RECORDS, "verdict": pl.String(), "reply_verdict": pl.String(), "has_reply": pl.Boolean()})
"""Records with what stands against them, null where nothing does."""

TEXTS = ("own_text", "reply_text")
"""The columns of ``JUDGED`` that hold message text."""


def judge(records: pl.DataFrame, sources: pl.DataFrame, quarantined: pl.DataFrame) -> pl.DataFrame:
    """Return ``records`` as ``JUDGED``.

    Args:
        records: rows of ``pairing.RECORDS``.
        sources: ``user_id``, ``source_key``, ``source_reason`` (null when included); a source missing here is not
            assigned.
        quarantined: the sessions (``user_id``, ``agent_id``, ``session_id``) that break the contract.
    """
    known = sources.lazy().with_columns(pl.lit(value=True).alias("is_source_known"))
    broken = quarantined.lazy().with_columns(
        pl.lit(value=True).alias("is_quarantined"), pl.lit(CHAT_HISTORY).alias("source_key")
    )
    has_reply = pl.col("reply_text").fill_null("").str.contains(r"\S") & ~pl.col("is_run_excluded")
    has_words = pl.col("own_text").str.contains(r"\S") | has_reply
    excluded = (
        pl.when(pl.col("source_key") == CHAT_HISTORY)
        .then(pl.lit(Reason.NOT_REMEMBERED.value))
        .otherwise(pl.lit(Reason.RECORD_EXCLUDED.value))
    )
    return (
        records.lazy()
        .join(known, on=("user_id", "source_key"), how="left", maintain_order="left")
        .join(broken, on=("user_id", "agent_id", "session_id", "source_key"), how="left", maintain_order="left")
        .with_columns(
            pl.when("is_forgotten")
            .then(pl.lit(Reason.SESSION_FORGOTTEN.value))
            .when(pl.col("absence").is_not_null())
            .then("absence")
            .when("is_excluded")
            .then(excluded)
            .when(pl.col("is_source_known").is_null())
            .then(pl.lit(Reason.SOURCE_NOT_ASSIGNED.value))
            .when(pl.col("source_reason").is_not_null())
            .then("source_reason")
            .when(~pl.col("is_admitted"))
            .then(pl.lit(Reason.NOT_ADMITTED.value))
            .when(~pl.col("is_active"))
            .then(pl.lit(Reason.LEFT_BRANCH.value))
            .when(~has_words & pl.col("has_recalled"))
            .then(pl.lit(Reason.RECALLED_BLOCK.value))
            .when(~has_words)
            .then(pl.lit(Reason.NO_TEXT.value))
            .when("is_quarantined")
            .then(pl.lit(Reason.CONTRACT_BROKEN.value))
            .alias("verdict"),
        )
        .with_columns(
            pl.when(pl.col("verdict").is_null() & pl.col("is_run_excluded") & pl.col("reply_text").is_not_null())
            .then(pl.lit(Reason.REPLY_NOT_REMEMBERED.value))
            .alias("reply_verdict"),
            pl.col("reply_text").is_not_null().alias("has_reply"),
        )
        .drop("is_source_known", "source_reason", "is_quarantined")
        .match_to_schema(JUDGED)
        .collect()
    )


def parts_of_record() -> pl.Expr:
    """Return the texts that enter memory, in order, each with its class: a list of structs ``text, origin_class``."""
    own = pl.struct(pl.col("own_text").alias("text"), pl.col("own_class").alias("origin_class"))
    reply = pl.struct(pl.col("reply_text").alias("text"), pl.lit("agent").alias("origin_class"))
    has_own = pl.col("own_text").str.contains(r"\S")
    has_reply = pl.col("reply_text").is_not_null() & pl.col("reply_verdict").is_null()
    return (
        pl.when(has_own & has_reply)
        .then(pl.concat_list(own, reply))
        .when(has_reply)
        .then(pl.concat_list(reply))
        .otherwise(pl.concat_list(own))
    )
