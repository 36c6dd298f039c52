"""A diff applied, and written down: rows deleted, inserted, updated; lineage; the cache; one last look.

Everything here runs inside the publishing transaction; nothing commits.
"""

import polars as pl

from orbit_pipelines.building.diff import CHUNK_KEYS, PLACE, SOURCE, ChunkDiff
from orbit_pipelines.building.embedding import TEXTS as TEXT_KEY
from orbit_pipelines.building.recheck import Recheck
from orbit_pipelines.building.staging import SOURCE_TYPES, Publication
from orbit_pipelines.building.verdicts import SKIPPED_REASONS
from orbit_pipelines.database.binary_copy import copy_frame, stage_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import NothingStagedMayPass
from orbit_pipelines.model import CHAT_HISTORY, Action, Reason

_CHUNK_TYPES = {
    **SOURCE_TYPES,
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
    **SOURCE_TYPES,
    "chunk_index": "int4",
    "content_hash": "bytea",
    "action": "text",
    "reason": "text",
    "changed_at": "timestamptz",
}
_WRITTEN_TYPES = {
    "user_id": "text",
    "agent_id": "text",
    "session_id": "text",
    "message_id": "text",
    "source_id": "text",
    "has_reply": "bool",
}
_TEXT_TYPES = {"user_id": "text", "agent_id": "text", "content_hash": "bytea"}
_DELETED = (Reason.MESSAGE_DELETED.value, Reason.SESSION_DELETED.value, Reason.ACCOUNT_DELETED.value)


def apply_diff(publication: Publication, diff: ChunkDiff, written: pl.DataFrame, fetched: pl.DataFrame) -> None:
    """Delete, update and insert chunks.

    Args:
        publication: the publish under way; a full one takes all rows of its scope away first.
        diff: with its reasons.
        written: the rows to insert, ``CHUNK_KEYS``: all fresh ones of a full build, else ``diff.inserted``.
        fetched: the vectors the workspace lacks.
    """
    connection = publication.connection
    if publication.extraction.is_full:
        connection.execute(statement("delete_scope_chunks"), {"everyone": publication.extraction.is_everything})
    else:
        if diff.removed.height:
            stage_frame(connection, "doomed_chunk", diff.removed, {**SOURCE_TYPES, "chunk_index": "int4"})
            connection.execute(statement("delete_chunks"))
        if diff.updated.height:
            types = {name: _CHUNK_TYPES[name] for name in CHUNK_KEYS if name != "model"}
            stage_frame(connection, "updated_chunk", diff.updated, types)
            connection.execute(statement("update_chunks"), {"build_id": publication.build_id})
    if written.height:
        _insert(publication, written.select(*PLACE), fetched.select(*TEXT_KEY, "embedding"))


def _insert(publication: Publication, places: pl.DataFrame, fetched: pl.DataFrame) -> None:
    workspace = publication.workspace
    for part in workspace.parts("chunks"):
        rows = workspace.read("chunks", part).join(places, on=PLACE, how="semi", maintain_order="left")
        if rows.is_empty():
            continue
        known = workspace.read("vectors", part, [*TEXT_KEY, "embedding"]).filter(pl.col("embedding").is_not_null())
        vectors = pl.concat([known, fetched]).unique(TEXT_KEY, keep="first")
        complete = rows.join(vectors, on=TEXT_KEY, how="left", maintain_order="left").with_columns(
            # Which language a text is in is told with lexical search, which is what needs it.
            pl.lit(None, dtype=pl.String).alias("language"),
            pl.lit(publication.recipe.fingerprint).alias("recipe"),
            pl.lit(publication.build_id).alias("build_id"),
        )
        copy_frame(publication.connection, "memory.chunk", complete, _CHUNK_TYPES)


def record_changes(publication: Publication, diff: ChunkDiff) -> None:
    """Write one ``memory.change`` row for every key that came, went or was described otherwise."""
    changed_at = publication.connection.execute("select now()").fetchone()
    rows = [
        frame.select(*PLACE, "content_hash", "reason").with_columns(pl.lit(action.value).alias("action"))
        for action, frame in (
            (Action.REMOVED, diff.removed),
            (Action.ADDED, diff.inserted),
            (Action.UPDATED, diff.updated),
        )
    ]
    changes = pl.concat(rows).with_columns(
        pl.lit(publication.build_id).alias("build_id"),
        pl.lit(changed_at[0] if changed_at else None, dtype=pl.Datetime("us", "UTC")).alias("changed_at"),
    )
    copy_frame(publication.connection, "memory.change", changes, _CHANGE_TYPES)


def skips_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return what of the judged records ``memory.skipped`` tells: the source and its reason."""
    return (
        records.with_columns(pl.coalesce("verdict", "reply_verdict").alias("reason"))
        .filter(pl.col("reason").is_in(SKIPPED_REASONS))
        .select(*SOURCE, "reason")
    )


def record_skips(publication: Publication, skips: pl.DataFrame) -> None:
    """End the skips of the scope that hold no longer and begin the new ones; one that goes on is not touched."""
    connection = publication.connection
    stage_frame(connection, "fresh_skip", skips, {**SOURCE_TYPES, "reason": "text"})
    parameters = {"build_id": publication.build_id, "everyone": publication.extraction.is_everything}
    connection.execute(statement("end_skips"), parameters)
    connection.execute(statement("begin_skips"), parameters)


def record_source_statuses(publication: Publication) -> None:
    """Write the status of each source of each person in scope, where it changed."""
    extraction = publication.extraction
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


def tend_cache(publication: Publication, diff: ChunkDiff, cache_days: int) -> None:
    """Count the days of the vectors of what left, drop those of what was deleted, and those whose days are over."""
    if diff.removed.is_empty():
        return
    connection = publication.connection
    stage_frame(connection, "left_text", diff.removed.select(*_TEXT_TYPES).unique(), _TEXT_TYPES)
    connection.execute(statement("touch_cached_embeddings"))
    bereft = diff.removed.filter(pl.col("reason").is_in(_DELETED)).select("user_id", "agent_id").unique()
    if bereft.height:
        stage_frame(connection, "bereft_store", bereft, {"user_id": "text", "agent_id": "text"})
        connection.execute(statement("find_unused_embeddings"))
        connection.execute("analyze unused_text")
        connection.execute(statement("drop_embeddings_of_deleted"))
    connection.execute(statement("drop_unused_embeddings"), {"days": cache_days})


def refuse_unfit(publication: Publication, written: pl.DataFrame, news: Recheck) -> None:
    """Look once more at the pairs this publish has just written.

    Raises:
        NothingStagedMayPass: one is excluded, forgotten or renumbered.
    """
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
    if pairs.is_empty():
        return
    connection = publication.connection
    stage_frame(connection, "written_pair", pairs, _WRITTEN_TYPES)
    row = connection.execute(statement("count_unfit_chunks"), {"snapshot": news.snapshot}).fetchone()
    excluded, forgotten, renumbered = row or (0, 0, 0)
    if excluded or forgotten or renumbered:
        raise NothingStagedMayPass(
            f"Build {publication.build_id} was about to publish {excluded} excluded pairs, {forgotten} of forgotten "
            f"sessions and {renumbered} under another pair's number. Nothing was published; memory is as before. "
            "This is a defect: please report it with the build's lineage."
        )
