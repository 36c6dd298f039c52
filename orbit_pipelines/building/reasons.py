"""Why a chunk came, went, or stayed out: the true reason of every row of the diff. Pure.

A reason is a property of a *source* (a pair or record) in one publish, not of a single chunk: its removed chunks share
one, and so do its added ones. Where several hold, DESIGN.md's order decides: forgotten, deleted, excluded, source,
admission, branch, edit, recipe.
"""

from dataclasses import replace
from functools import cache

import polars as pl

from orbit_pipelines.building.diff import SOURCE, ChunkDiff
from orbit_pipelines.model import Reason

HISTORY = pl.Schema(
    {
        **dict.fromkeys(SOURCE, pl.String()),
        "skipped_reason": pl.String(),
        "last_removed_reason": pl.String(),
        "left_branch_hashes": pl.List(pl.String()),
        "is_said_present": pl.Boolean(),
        "why_absent": pl.String(),
    }
)
"""What the database knows of a source before this publish.

``skipped_reason``: the row of ``memory.skipped`` in force. ``last_removed_reason``: of its newest removal.
``left_branch_hashes``: hex hashes of chunks that left with their branch. ``is_said_present``: lineage ends with its
chunks in memory. ``why_absent``: for a source the extraction doesn't have, why
(``session_forgotten``, ``account_deleted``, ``session_deleted``, ``message_deleted``, or null: it never was).
"""

_SOURCE_REASONS = (
    Reason.SOURCE_SWITCHED_OFF.value,
    Reason.SOURCE_NOT_ASSIGNED.value,
    Reason.SOURCE_OVER_CAP.value,
)
_RUN_REASONS = (Reason.REPLY_NOT_REMEMBERED.value, Reason.REPLY_REMEMBERED_AGAIN.value)


def explain(diff: ChunkDiff, records: pl.DataFrame, stored: pl.DataFrame, history: pl.DataFrame) -> ChunkDiff:
    """Return the diff with a ``reason`` on every row.

    Args:
        diff: as ``diff_chunks`` returns it.
        records: judged records of the extent (see ``verdicts.judge``), texts not needed.
        stored: the stored rows the diff was taken from.
        history: ``HISTORY``, one row for every source in ``diff.inserted``, and for those in ``diff.removed`` that no
            verdict of ``records`` speaks of; empty where memory has no lineage yet.
    """
    updated = diff.updated.with_columns(_lit(Reason.METADATA_CHANGED).alias("reason"))
    if stored.is_empty() and history.is_empty():
        # As on a first build: of what nothing is known, the reasons below are this one.
        inserted = diff.inserted.with_columns(_lit(Reason.NEW_PAIR).alias("reason"))
        removed = diff.removed.with_columns(pl.lit(None, dtype=pl.String).alias("reason"))
        return replace(diff, inserted=inserted, removed=removed, updated=updated)
    touched = pl.concat([diff.removed.select(*SOURCE), diff.inserted.select(*SOURCE)]).unique().lazy()
    had = (
        stored.lazy()
        .join(touched, on=SOURCE, how="semi")
        .group_by(*SOURCE)
        .agg(
            pl.col("reply_message_ids").first().alias("stored_reply_ids"),
            pl.col("recipe").first().alias("stored_recipe"),
            pl.lit(value=True).alias("was_stored"),
        )
    )
    now = (
        diff.inserted.lazy()
        .group_by(*SOURCE)
        .agg(
            pl.col("recipe").first().alias("fresh_recipe"),
            pl.col("content_hash").bin.encode("hex").alias("fresh_hashes"),
        )
    )
    facts = (
        touched.join(records.lazy().with_columns(pl.lit(value=True).alias("is_known")), on=SOURCE, how="left")
        .join(had, on=SOURCE, how="left")
        .join(now, on=SOURCE, how="left")
        .join(history.lazy(), on=SOURCE, how="left")
        .with_columns(_compared_replies())
        .with_columns(_has_returned().alias("is_branch_returned"))
        .with_columns((pl.col("is_reply_new") & pl.col("is_branch_returned")).alias("is_reply_back"))
        .with_columns(_why_text_changed().alias("change"))
        .with_columns(_why_removed().alias("removed_reason"))
        .with_columns(_why_added().alias("added_reason"))
        .select(*SOURCE, "removed_reason", "added_reason")
        .collect()
    )

    def reasoned(rows: pl.DataFrame, column: str) -> pl.DataFrame:
        return rows.join(
            facts.select(*SOURCE, pl.col(column).alias("reason")), on=SOURCE, how="left", maintain_order="left"
        )

    return replace(
        diff,
        inserted=reasoned(diff.inserted, "added_reason"),
        removed=reasoned(diff.removed, "removed_reason"),
        updated=updated,
    )


def _lit(reason: Reason) -> pl.Expr:
    return pl.lit(reason.value)


# Long expressions, the same for every share of every build: putting one together takes longer than a small diff.


@cache
def _compared_replies() -> list[pl.Expr]:
    no_ids = pl.lit([], dtype=pl.List(pl.String))
    had, has = pl.col("stored_reply_ids").fill_null(no_ids), pl.col("reply_message_ids").fill_null(no_ids)
    lost = had.list.set_difference(has)
    return [
        (has.list.set_difference(had).list.len() > 0).alias("is_reply_new"),
        (lost.list.set_difference(pl.col("known_reply_ids").fill_null(no_ids)).list.len() > 0).alias("is_reply_gone"),
        (lost.list.set_intersection(pl.col("former_reply_ids").fill_null(no_ids)).list.len() > 0).alias(
            "is_reply_off_branch"
        ),
    ]


@cache
def _has_returned() -> pl.Expr:
    """Return whether a text comes that once left with its branch."""
    no_hashes = pl.lit([], dtype=pl.List(pl.String))
    left = pl.col("left_branch_hashes").fill_null(no_hashes)
    return left.list.set_intersection(pl.col("fresh_hashes").fill_null(no_hashes)).list.len() > 0


@cache
def _why_text_changed() -> pl.Expr:
    """Return why a source that stays in memory has other chunks than it had."""
    was_skipped = pl.col("skipped_reason").eq_missing(_lit(Reason.REPLY_NOT_REMEMBERED))
    is_skipped = pl.col("reply_verdict").is_not_null()
    is_same_recipe = pl.col("stored_recipe").eq_missing(pl.coalesce("fresh_recipe", "stored_recipe"))
    return (
        pl.when("is_reply_gone")
        .then(_lit(Reason.MESSAGE_DELETED))
        .when(is_skipped & ~was_skipped)
        .then(_lit(Reason.REPLY_NOT_REMEMBERED))
        .when(was_skipped & ~is_skipped)
        .then(_lit(Reason.REPLY_REMEMBERED_AGAIN))
        # Where a reply comes back, the branch without it is left.
        .when(pl.col("is_reply_off_branch") | pl.col("is_reply_back"))
        .then(_lit(Reason.LEFT_BRANCH))
        .when(pl.col("is_content_changed").fill_null(value=False))
        .then(_lit(Reason.CONTENT_EDITED))
        .when(~is_same_recipe)
        .then(_lit(Reason.RECIPE_CHANGED))
        .when(pl.col("is_content_changed").is_null())
        .then(_lit(Reason.CONTENT_EDITED))
        .otherwise(_lit(Reason.REPAIRED))
    )


@cache
def _why_removed() -> pl.Expr:
    textless = pl.col("verdict").is_in([Reason.NO_TEXT.value, Reason.RECALLED_BLOCK.value])
    return (
        pl.when(pl.col("is_known").is_null())
        .then(pl.coalesce("why_absent", _lit(Reason.REPAIRED)))
        .when(textless & pl.col("is_reply_gone"))
        .then(_lit(Reason.MESSAGE_DELETED))
        .when(textless & pl.col("is_run_excluded") & pl.col("has_reply"))
        .then(_lit(Reason.REPLY_NOT_REMEMBERED))
        .when(textless & pl.col("is_reply_off_branch"))
        .then(_lit(Reason.LEFT_BRANCH))
        .when(textless)
        .then(_lit(Reason.CONTENT_EDITED))
        .when(pl.col("verdict").is_not_null())
        .then("verdict")
        .otherwise("change")
    )


@cache
def _why_added() -> pl.Expr:
    came_back = pl.coalesce("skipped_reason", "last_removed_reason")
    was_textless = pl.col("skipped_reason").is_in([Reason.NO_TEXT.value, Reason.RECALLED_BLOCK.value])
    left_branch = pl.col("last_removed_reason") == Reason.LEFT_BRANCH.value
    after_edit = pl.col("change").is_in([Reason.MESSAGE_DELETED.value, Reason.LEFT_BRANCH.value])
    return (
        pl.when(pl.col("was_stored") & after_edit & pl.col("is_branch_returned"))
        .then(_lit(Reason.BRANCH_RETURNED))
        .when(pl.col("was_stored") & after_edit)
        .then(_lit(Reason.CONTENT_EDITED))
        .when("was_stored")
        .then("change")
        .when(pl.col("is_said_present") & pl.col("skipped_reason").is_null())
        .then(_lit(Reason.REPAIRED))
        .when(was_textless & left_branch & pl.col("is_branch_returned"))
        .then(_lit(Reason.BRANCH_RETURNED))
        .otherwise(reason_of_return(came_back))
    )


def reason_of_return(was_out: pl.Expr) -> pl.Expr:
    """Return why a source enters memory that isn't there, from why it was out (null: it never was covered).

    Needs the column ``is_run_excluded``.
    """
    return (
        pl.when(was_out.is_in([Reason.NOT_REMEMBERED.value, Reason.RECORD_EXCLUDED.value]))
        .then(_lit(Reason.REMEMBERED_AGAIN))
        .when(was_out.is_in(_RUN_REASONS) & pl.col("is_run_excluded"))
        .then(_lit(Reason.REPLY_NOT_REMEMBERED))
        .when(was_out.is_in(_RUN_REASONS))
        .then(_lit(Reason.REPLY_REMEMBERED_AGAIN))
        .when(was_out.is_in(_SOURCE_REASONS))
        .then(_lit(Reason.SOURCE_INCLUDED))
        .when(was_out == Reason.NOT_ADMITTED.value)
        .then(_lit(Reason.ADMITTED_AGAIN))
        .when(was_out == Reason.LEFT_BRANCH.value)
        .then(_lit(Reason.BRANCH_RETURNED))
        .when(was_out.is_in([Reason.NO_TEXT.value, Reason.RECALLED_BLOCK.value, Reason.CONTENT_EDITED.value]))
        .then(_lit(Reason.CONTENT_EDITED))
        .when(was_out.is_in([Reason.CONTRACT_BROKEN.value, Reason.REPAIRED.value]))
        .then(_lit(Reason.REPAIRED))
        .when(was_out == Reason.RECIPE_CHANGED.value)
        .then(_lit(Reason.RECIPE_CHANGED))
        .otherwise(_lit(Reason.NEW_PAIR))
    )
