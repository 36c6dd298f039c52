"""Pairs: each user message with the reply that answered it (DESIGN.md, section 5), as whole-frame expressions.

Pure. Pairing goes by the numbers a message was given when it was stored (``pair_index``, ``run_index``, ``answers``),
never by neighbours, so that an excluded or deleted message's reply can't slide into another pair. Every pair is
formed first; what is skipped, and why, is said afterwards by ``building.verdicts``.
"""

import polars as pl

from orbit_pipelines.building.recalled_blocks import cut_recalled_blocks
from orbit_pipelines.model import CHAT_HISTORY, OriginClass

MESSAGES = pl.Schema(
    {
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "session_id": pl.String(),
        "message_id": pl.String(),
        "position": pl.Int32(),
        "is_active": pl.Boolean(),
        "absence": pl.String(),
        "role": pl.String(),
        "author": pl.String(),
        "content": pl.String(),
        "sent_at": pl.Datetime("us", "UTC"),
        "not_remembered": pl.Boolean(),
        "pair_index": pl.Int32(),
        "answers": pl.Int32(),
        "run_index": pl.Int32(),
        "is_content_changed": pl.Boolean(),
        "session_kind": pl.String(),
        "is_forgotten": pl.Boolean(),
        "admitted_below": pl.Int32(),
    }
)
"""What extraction hands over: every user and assistant message of a session or run, and the deleted user messages.

``absence`` is null for a message that is there, else ``message_deleted``, ``session_deleted`` or ``account_deleted``.
"""

RECORDS = pl.Schema(
    {
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "source_key": pl.String(),
        "source_id": pl.String(),
        "session_id": pl.String(),
        "message_id": pl.String(),
        "pair_index": pl.Int32(),
        "run_index": pl.Int32(),
        "own_text": pl.String(),
        "own_class": pl.String(),
        "reply_text": pl.String(),
        "reply_message_ids": pl.List(pl.String()),
        "former_reply_ids": pl.List(pl.String()),
        "known_reply_ids": pl.List(pl.String()),
        "session_kind": pl.String(),
        "sent_at": pl.Datetime("us", "UTC"),
        "is_excluded": pl.Boolean(),
        "is_run_excluded": pl.Boolean(),
        "is_active": pl.Boolean(),
        "absence": pl.String(),
        "is_forgotten": pl.Boolean(),
        "is_admitted": pl.Boolean(),
        "is_content_changed": pl.Boolean(),
        "has_recalled": pl.Boolean(),
    }
)
"""What a source yields for memory, before anything is skipped: one row a pair or record.

``own_text`` is the user's message or the record's text, ``reply_text`` what answered it (null when unanswered), said by
``reply_message_ids``. ``former_reply_ids`` answered it on a branch that was left; ``known_reply_ids`` are all that are
still there, with or without text.
``is_run_excluded``: some message of its run is not remembered, so its reply isn't either.
``has_recalled``: memory that was shown in the chat was cut from its texts.
"""

_SESSION = ("user_id", "agent_id", "session_id")
_SYSTEM_KINDS = ("cron", "heartbeat")
_FOREIGN_KINDS = ("hook",)


def pair_messages(messages: pl.DataFrame) -> pl.DataFrame:
    """Return one ``RECORDS`` row for every user message of ``messages``, deleted and inactive ones included.

    Args:
        messages: ``MESSAGES`` rows sorted by session; runs must be whole. Roles other than user and assistant break
            nothing and are ignored.
    """
    # Most histories have no branches that were left, and asking costs as much as all the rest.
    has_left = not messages["is_active"].all()
    numbered = cut_recalled_blocks(messages).lazy().with_columns(pl.struct(_SESSION).rle_id().alias("session_no"))
    asked = numbered.filter(pl.col("role") == "user")
    has_words = pl.col("content").str.contains(r"\S")
    is_said = pl.col("is_active") & has_words
    of_left_branches = [
        # What answered a message on the branch that both left.
        pl.col("content").filter(has_words).str.join("\n\n").alias("left_reply_text"),
        pl.col("message_id").filter(has_words).alias("left_reply_ids"),
        pl.col("message_id").filter(~pl.col("is_active")).alias("former_reply_ids"),
    ]
    answering = (
        numbered.filter((pl.col("role") == "assistant") & pl.col("answers").is_not_null())
        .sort("session_no", "answers", "position", "message_id")
        .group_by("session_no", pl.col("answers").alias("pair_index"), maintain_order=True)
        .agg(
            pl.col("content").filter(is_said).str.join("\n\n").alias("reply_text"),
            pl.col("message_id").filter(is_said).alias("reply_message_ids"),
            *(of_left_branches if has_left else []),
            pl.col("message_id").alias("known_reply_ids"),
            pl.col("is_content_changed").any().alias("is_reply_changed"),
            (pl.col("is_recalled") & pl.col("is_active")).any().alias("has_recalled_reply"),
        )
    )
    run_flags = asked.group_by("session_no", "run_index").agg(
        (pl.col("not_remembered") & pl.col("is_active")).any().alias("is_run_excluded")
    )
    no_ids = pl.lit([], dtype=pl.List(pl.String))
    reply_ids, reply_text, former_ids = pl.col("reply_message_ids"), pl.col("reply_text"), no_ids
    if has_left:
        reply_ids = pl.when("is_active").then(reply_ids).otherwise("left_reply_ids")
        reply_text = pl.when("is_active").then(reply_text).otherwise("left_reply_text")
        former_ids = pl.col("former_reply_ids").fill_null(no_ids)
    reply_ids = reply_ids.fill_null(no_ids)
    return (
        asked.join(answering, on=("session_no", "pair_index"), how="left", maintain_order="left")
        .join(run_flags, on=("session_no", "run_index"), how="left", maintain_order="left")
        .select(
            "user_id",
            "agent_id",
            pl.lit(CHAT_HISTORY).alias("source_key"),
            source_id().alias("source_id"),
            "session_id",
            "message_id",
            "pair_index",
            "run_index",
            pl.col("content").fill_null("").alias("own_text"),
            author_class().alias("own_class"),
            pl.when(reply_ids.list.len() > 0).then(reply_text).alias("reply_text"),
            reply_ids.alias("reply_message_ids"),
            former_ids.alias("former_reply_ids"),
            pl.col("known_reply_ids").fill_null(no_ids),
            "session_kind",
            "sent_at",
            pl.col("not_remembered").alias("is_excluded"),
            "is_run_excluded",
            "is_active",
            "absence",
            "is_forgotten",
            (pl.col("admitted_below").is_null() | (pl.col("pair_index") < pl.col("admitted_below"))).alias(
                "is_admitted"
            ),
            (pl.col("is_content_changed") | pl.col("is_reply_changed").fill_null(value=False)).alias(
                "is_content_changed"
            ),
            (pl.col("is_recalled") | pl.col("has_recalled_reply").fill_null(value=False)).alias("has_recalled"),
        )
        .match_to_schema(RECORDS)
        .collect()
    )


def source_id() -> pl.Expr:
    """Return ``<session_id>:<pair_index>``, the id a pair keeps for ever."""
    return pl.concat_str("session_id", pl.lit(":"), "pair_index")


def author_class() -> pl.Expr:
    """Return who stands behind a user message: its session's kind and its author decide, never a default of trust."""
    return (
        pl.when(pl.col("session_kind").is_in(_SYSTEM_KINDS))
        .then(pl.lit(OriginClass.SYSTEM.value))
        .when(pl.col("session_kind").is_in(_FOREIGN_KINDS))
        .then(pl.lit(OriginClass.UNTRUSTED.value))
        .when(pl.col("author").is_not_null() & (pl.col("author") != pl.col("user_id")))
        .then(pl.lit(OriginClass.UNTRUSTED.value))
        .otherwise(pl.lit(OriginClass.OWNER.value))
    )


def unanswering_replies(messages: pl.DataFrame) -> int:
    """Return how many active replies answer nothing that is still there; they are reported, never stored."""
    asked = messages.filter((pl.col("role") == "user") & pl.col("absence").is_null()).select(*_SESSION, "pair_index")
    return (
        messages.filter((pl.col("role") == "assistant") & pl.col("is_active"))
        .join(
            asked,
            left_on=(*_SESSION, "answers"),
            right_on=(*_SESSION, "pair_index"),
            how="anti",
        )
        .height
    )
