"""Blinks, documents and profile facts: one record each, in the same shape as a pair. Pure."""

import polars as pl

from orbit_pipelines.building.pairing import RECORDS
from orbit_pipelines.building.recalled_blocks import cut_recalled_blocks
from orbit_pipelines.model import OriginClass

STORED_RECORDS = pl.Schema(
    {
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "source_key": pl.String(),
        "source_id": pl.String(),
        "title": pl.String(),
        "content": pl.String(),
        "is_excluded": pl.Boolean(),
        "origin_session_id": pl.String(),
        "origin_message_id": pl.String(),
        "recorded_at": pl.Datetime("us", "UTC"),
        "is_content_changed": pl.Boolean(),
    }
)
"""What extraction hands over of ``orbitpilot.record``."""

_OWN_WORDS = ("profile.facts", "blink.blinks")


def shape_records(stored: pl.DataFrame) -> pl.DataFrame:
    """Return one ``RECORDS`` row for every stored record.

    Facts, and blinks without an origin, are the owner's own words; a blink caught from a reply is the agent's; what
    any other source brings (documents) may be anybody's, so it is untrusted. Recalled memory is cut from their texts.
    """
    nothing = pl.lit(None, dtype=pl.String)
    no_ids = pl.lit([], dtype=pl.List(pl.String))
    # A title above nothing but recalled memory is a text of its own, without the blank line that content would follow.
    is_empty = pl.col("is_recalled") & (pl.col("content") == "")
    own_content = pl.when(~is_empty).then("content")
    return (
        cut_recalled_blocks(stored)
        .select(
            "user_id",
            "agent_id",
            "source_key",
            "source_id",
            pl.col("origin_session_id").alias("session_id"),
            pl.col("origin_message_id").alias("message_id"),
            pl.lit(None, dtype=pl.Int32).alias("pair_index"),
            pl.lit(None, dtype=pl.Int32).alias("run_index"),
            pl.concat_str("title", own_content, separator="\n\n", ignore_nulls=True).alias("own_text"),
            pl.when(~pl.col("source_key").is_in(_OWN_WORDS))
            .then(pl.lit(OriginClass.UNTRUSTED.value))
            .when(pl.col("origin_message_id").is_not_null())
            .then(pl.lit(OriginClass.AGENT.value))
            .otherwise(pl.lit(OriginClass.OWNER.value))
            .alias("own_class"),
            nothing.alias("reply_text"),
            no_ids.alias("reply_message_ids"),
            no_ids.alias("former_reply_ids"),
            no_ids.alias("known_reply_ids"),
            nothing.alias("session_kind"),
            pl.col("recorded_at").alias("sent_at"),
            "is_excluded",
            pl.lit(value=False).alias("is_run_excluded"),
            pl.lit(value=True).alias("is_active"),
            nothing.alias("absence"),
            pl.lit(value=False).alias("is_forgotten"),
            pl.lit(value=True).alias("is_admitted"),
            "is_content_changed",
            pl.col("is_recalled").alias("has_recalled"),
        )
        .match_to_schema(RECORDS)
    )
