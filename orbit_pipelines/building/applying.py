"""A share's diff applied, and written down: rows deleted, inserted, updated; lineage; the cache; one last look.

Everything here runs inside the publishing transaction; nothing commits.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

import polars as pl

from orbit_pipelines.building.diff import PLACE, SKIPS, SOURCE, ChunkDiff, SkipDiff
from orbit_pipelines.building.embedding import TEXTS as TEXT_KEY
from orbit_pipelines.building.recheck import Recheck
from orbit_pipelines.building.staging import Publication, Reach
from orbit_pipelines.building.verdicts import SKIPPED_REASONS
from orbit_pipelines.database.binary_copy import copy_frame, copy_frames
from orbit_pipelines.database.frames import arrays, slices
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import NothingStagedMayPass
from orbit_pipelines.model import CHAT_HISTORY, Action, Reason

_SOURCE_TYPES = dict.fromkeys(SOURCE, "text")
_CHUNK_TYPES = {
    **_SOURCE_TYPES,
    "chunk_index": "int4",
    "content_hash": "bytea",
    "session_id": "text",
    "message_id": "text",
    "reply_message_ids": "text[]",
    "content": "text",
    "spans": "jsonb",
    "embedding": "halfvec",
    "language": "text",
    "origin_class": "text",
    "session_kind": "text",
    "sent_at": "timestamptz",
    "recipe": "text",
    "build_id": "int8",
}
_CHANGE_TYPES = {
    "build_id": "int8",
    **_SOURCE_TYPES,
    "chunk_index": "int4",
    "content_hash": "bytea",
    "action": "text",
    "reason": "text",
    "changed_at": "timestamptz",
}
_SKIP_TYPES = {**_SOURCE_TYPES, "reason": "text", "since_build_id": "int8"}
_UPDATED = (
    *PLACE,
    "session_id",
    "message_id",
    "reply_message_ids",
    "spans",
    "origin_class",
    "session_kind",
    "sent_at",
    "recipe",
)
_STORE = ("user_id", "agent_id")
_DELETED = (Reason.MESSAGE_DELETED.value, Reason.SESSION_DELETED.value, Reason.ACCOUNT_DELETED.value)


def apply_diff(
    publication: Publication, reach: Reach, diff: ChunkDiff, written: pl.DataFrame, fetched: pl.DataFrame
) -> None:
    """Delete, update and insert chunks.

    Args:
        publication: the publish under way; a full one takes all rows of its scope away first.
        reach: what it may touch.
        diff: with its reasons.
        written: the rows to insert, ``CHUNK_KEYS``: all fresh ones of a full build, else ``diff.inserted``.
        fetched: the vectors the workspace lacks.
    """
    connection = publication.connection
    if publication.extraction.is_full:
        whom = {"everyone": reach.is_everything, "users": list(reach.users), "left_out": list(reach.left_out)}
        connection.execute(statement("delete_scope_chunks"), {**whom, **reach.bounds, **arrays(reach.frozen)})
    else:
        for rows in slices(diff.removed.select(*PLACE)):
            connection.execute(statement("delete_chunks"), rows)
        if diff.updated.height:
            updated = diff.updated.with_columns(pl.col("reply_message_ids").map_elements(_as_json, pl.String))
            for rows in slices(updated.select(*_UPDATED)):
                connection.execute(statement("update_chunks"), {"build_id": publication.build_id, **rows})
    if written.height:
        inserted = _rows_to_insert(publication, written.select(*PLACE), fetched.select(*TEXT_KEY, "embedding"))
        copy_frames(connection, "memory.chunk", inserted, _CHUNK_TYPES)


def _as_json(ids: pl.Series) -> str:
    # Arrays of arrays would have to be rectangular.
    return json.dumps(ids.to_list())


def _rows_to_insert(publication: Publication, places: pl.DataFrame, fetched: pl.DataFrame) -> Iterator[pl.DataFrame]:
    workspace = publication.workspace
    for part in publication.share.parts_of(workspace, "chunks"):
        rows = workspace.read("chunks", part).join(places, on=PLACE, how="semi", maintain_order="left")
        known = workspace.read("vectors", part, [*TEXT_KEY, "embedding"]).filter(pl.col("embedding").is_not_null())
        vectors = pl.concat([known, fetched]).unique(TEXT_KEY, keep="first")
        yield rows.join(vectors, on=TEXT_KEY, how="left", maintain_order="left").with_columns(
            # Which language a text is in is told with lexical search, which is what needs it.
            pl.lit(None, dtype=pl.String).alias("language"),
            pl.lit(publication.recipe.fingerprint).alias("recipe"),
            pl.lit(publication.build_id).alias("build_id"),
        )


def record_changes(publication: Publication, diff: ChunkDiff, changed_at: datetime) -> None:
    """Write one ``memory.change`` row for every key that came, went or was described otherwise.

    What is forgotten leaves its ids there, and no hash.
    """
    rows = [
        frame.select(*PLACE, "content_hash", "reason").with_columns(pl.lit(action.value).alias("action"))
        for action, frame in (
            (Action.REMOVED, diff.removed),
            (Action.ADDED, diff.inserted),
            (Action.UPDATED, diff.updated),
        )
        if frame.height
    ]
    if not rows:
        return
    changes = pl.concat(rows).with_columns(
        pl.when(pl.col("reason") != Reason.SESSION_FORGOTTEN.value).then("content_hash").alias("content_hash"),
        pl.lit(publication.build_id).alias("build_id"),
        pl.lit(changed_at, dtype=pl.Datetime("us", "UTC")).alias("changed_at"),
    )
    copy_frame(publication.connection, "memory.change", changes, _CHANGE_TYPES)


def skips_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return what of the judged records ``memory.skipped`` tells: the source and its reason."""
    return (
        records.with_columns(pl.coalesce("verdict", "reply_verdict").alias("reason"))
        .filter(pl.col("reason").is_in(SKIPPED_REASONS))
        .select(*SOURCE, "reason")
    )


def record_skips(publication: Publication, diff: SkipDiff) -> None:
    """End the skips that hold no longer and begin the new ones; one that goes on is not touched."""
    connection, build_id = publication.connection, publication.build_id
    for rows in slices(diff.ended.select(*SOURCE)):
        connection.execute(statement("end_skips"), {"build_id": build_id, **rows})
    begun = diff.begun.select(*SKIPS).with_columns(pl.lit(build_id).alias("since_build_id"))
    copy_frame(connection, "memory.skipped", begun, _SKIP_TYPES)


def record_source_statuses(publication: Publication) -> None:
    """Write the status of each source of each person in scope, where it changed: of whoever is taken whole, that is."""
    extraction = publication.extraction
    if not (extraction.is_everything or extraction.whole_users):
        return
    flat = [
        (plan, source, reason)
        for plan, statuses in extraction.plan_statuses.items()
        for source, reason in statuses.items()
    ]
    publication.connection.execute(
        statement("record_source_statuses"),
        {
            "build_id": publication.build_id,
            "everyone": extraction.is_everything,
            "users": list(extraction.whole_users),
            "left_out": list(publication.left_out),
            "plan_keys": [plan for plan, _, _ in flat],
            "source_keys": [source for _, source, _ in flat],
            "reasons": [reason for _, _, reason in flat],
        },
    )


def count_days(publication: Publication, diff: ChunkDiff) -> pl.DataFrame:
    """Count the days of the vectors of what left from now on; return the stores that lost something for good."""
    if diff.removed.is_empty():
        return diff.removed.select(*_STORE)
    reason = pl.col("reason")
    left = diff.removed.filter(reason != Reason.ACCOUNT_DELETED.value)
    for rows in slices(left.select(*TEXT_KEY, "model").unique()):
        publication.connection.execute(statement("touch_cached_embeddings"), rows)
    return diff.removed.filter(reason.is_in(_DELETED)).select(*_STORE).unique()


def tend_cache(publication: Publication, bereft: pl.DataFrame, cache_days: int) -> None:
    """Drop the vectors of what was deleted, and those whose days are over.

    Args:
        publication: when all its shares are written.
        bereft: what ``count_days`` returned of each: beside these, what was deleted before memory held it counts.
        cache_days: how many those are.
    """
    connection, extraction = publication.connection, publication.extraction
    connection.execute(statement("drop_unused_embeddings"), {"days": cache_days})
    whom = {
        "everyone": extraction.scope.is_everyone,
        "users": list(extraction.users),
        "left_out": list(publication.left_out),
    }
    lost = connection.execute(statement("find_bereft_stores"), whom).fetchall()
    bereft = pl.concat([bereft, pl.DataFrame(lost, schema=bereft.schema, orient="row")]).unique()
    if bereft.height:
        connection.execute(statement("drop_embeddings_of_accounts"), {"users": bereft["user_id"].unique().to_list()})
        connection.execute(
            'create temp table unused_text (user_id text collate "C", agent_id text collate "C",'
            ' model text collate "C", content_hash bytea) on commit drop'
        )
        connection.execute(statement("find_unused_embeddings"), arrays(bereft))
        connection.execute("analyze unused_text")
        connection.execute(statement("drop_embeddings_of_deleted"))


def count_unfit(publication: Publication, written: pl.DataFrame, news: Recheck) -> tuple[int, int, int]:
    """Look once more at the pairs just written: return how many are excluded, forgotten, and renumbered."""
    if written.is_empty():
        return 0, 0, 0
    pairs = (
        written.filter(pl.col("source_key") == CHAT_HISTORY)
        .select(
            "user_id",
            "agent_id",
            "session_id",
            "message_id",
            "source_id",
            (pl.col("reply_message_ids").list.len() > 0).alias("has_reply"),
        )
        .unique()
    )
    between = {"extracted": publication.extraction.snapshot, "snapshot": news.snapshot}
    looks = ["count_unfit_chunks", *(["count_unfit_departures"] if news.has_departures else [])]
    counts = [
        publication.connection.execute(statement(look), {**between, **rows}).fetchone() or (0, 0, 0)
        for rows in slices(pairs)
        for look in looks
    ]
    excluded, forgotten, renumbered = (sum(found) for found in zip((0, 0, 0), *counts, strict=True))
    return excluded, forgotten, renumbered


def refuse_unfit(publication: Publication, unfit: Sequence[tuple[int, int, int]]) -> None:
    """End the publish if a share has written what it may not; by what ``count_unfit`` returned of each.

    Raises:
        NothingStagedMayPass: a pair is excluded, forgotten or renumbered.
    """
    excluded, forgotten, renumbered = (sum(found) for found in zip((0, 0, 0), *unfit, strict=True))
    if excluded or forgotten or renumbered:
        raise NothingStagedMayPass(
            f"Build {publication.build_id} was about to publish {excluded} excluded pairs, {forgotten} of forgotten "
            f"sessions and {renumbered} under another pair's number. Nothing was published; memory is as before. "
            "This is a defect: please report it with the build's lineage."
        )
