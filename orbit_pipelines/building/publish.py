"""One transaction that turns a build's frames into memory: diff, lineage and watermark together, or nothing.

The order matters. The lock is taken in a statement of its own, so that what is read afterwards is newer than the lock.
Then everything that may have happened since extraction is read again: whether another build published these people
meanwhile, whether a forget ran, which messages and records were excluded, which sessions were forgotten. What came in
is applied and the publish goes on; it never waits for quiet.
"""

from dataclasses import dataclass, field
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.chunks import CHUNKS, CONTENT
from orbit_pipelines.building.diff import CHUNK_KEYS, PLACE, SOURCE, ChunkDiff, diff_chunks
from orbit_pipelines.building.embedding import TEXTS as TEXT_KEY
from orbit_pipelines.building.embedding import VECTORS, find_known
from orbit_pipelines.building.extraction import STORES, Extraction, read_extent
from orbit_pipelines.building.locks import lock_bucket, lock_person
from orbit_pipelines.building.reasons import HISTORY, explain
from orbit_pipelines.building.recheck import Recheck, recheck
from orbit_pipelines.building.recipe import Recipe
from orbit_pipelines.building.scope import BUCKET, Extent, Watermark, Watermarks, read_watermarks
from orbit_pipelines.building.verdicts import JUDGED, SKIPPED_REASONS, TEXTS
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.frames import read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import BuildFailed, NothingStagedMayPass
from orbit_pipelines.model import Action, Reason

_RECORD_KEYS = pl.Schema({name: dtype for name, dtype in JUDGED.items() if name not in TEXTS})
_CHUNK_COLUMNS = {
    "user_id": "text",
    "agent_id": "text",
    "source_key": "text",
    "source_id": "text",
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
_SOURCE_COLUMNS = dict.fromkeys(SOURCE, "text")


@dataclass(frozen=True, slots=True)
class Published:
    """What a publish did. ``is_superseded``: other builds had published everyone meanwhile; nothing was written."""

    is_superseded: bool = False
    records: int = 0
    added: int = 0
    removed: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    embedded: int = 0
    from_cache: int = 0
    left_out: tuple[str, ...] = ()
    reasons: dict[str, dict[str, int]] = field(default_factory=dict)


def publish(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    extraction: Extraction,
    *,
    recipe: Recipe,
    build_id: int,
    cache_days: int,
) -> Published:
    """Bring memory to what the workspace's frames say, in one READ COMMITTED transaction.

    Raises:
        NothingStagedMayPass: a row that is excluded, forgotten or renumbered would have been published; nothing was.
        BuildFailed: the workspace lacks something this publish needs.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level read committed")
        if len(extraction.users) == 1:
            lock_person(connection, extraction.users[0])
        else:
            lock_bucket(connection)
        marks = read_watermarks(connection, extraction.scope)
        left_out = _left_out(connection, workspace, extraction, marks)
        if left_out is None:
            return Published(is_superseded=True)
        news = recheck(connection, extraction, left_out)
        records = _records(workspace, left_out, news)
        fresh = _fresh_chunks(workspace, left_out, records, recipe)
        _stage_scope(connection, read_extent(workspace, extraction), records, news, left_out)
        stored = _stored(connection, extraction, records)
        history = _history(connection, diff := diff_chunks(stored, fresh))
        diff = explain(diff, records, stored, history)
        vectors = _vectors(connection, workspace, diff, fresh if extraction.is_full else diff.inserted, recipe)
        _apply(connection, workspace, extraction, diff, fresh, vectors, build_id)
        _record_changes(connection, diff, build_id)
        _record_skips(connection, extraction, records, build_id)
        connection.execute(
            statement("record_source_statuses"),
            {
                "build_id": build_id,
                "everyone": extraction.is_everything,
                "users": list(extraction.whole_users),
                "left_out": list(left_out),
                **_plan_arrays(extraction),
            },
        )
        _tend_cache(connection, diff, cache_days)
        _refuse_unfit(connection, news, build_id)
        _move_watermarks(connection, extraction, marks, left_out, build_id)
        published = _counts(workspace, diff, fresh, records, extraction, left_out)
        _close_build(connection, build_id, extraction, news, published)
    return published


def _left_out(
    connection: psycopg.Connection[Any], workspace: Workspace, extraction: Extraction, marks: Watermarks
) -> tuple[str, ...] | None:
    """Return the people this build may not publish; None when that is everyone."""
    before = extraction.watermarks

    def build_of(mark: Watermark | None) -> int | None:
        return mark.build_id if mark else None

    if extraction.scope.is_everyone and build_of(before.bucket) != build_of(marks.bucket):
        return None
    people = extraction.users or {*before.people, *marks.people}
    overtaken = {user for user in people if build_of(before.of(user)) != build_of(marks.of(user))}
    seen = workspace.read_all("stores", STORES)
    revisions = read_frame(
        connection,
        b"select user_id, agent_id, forget_revision from memory.store where %(all)s or user_id = any(%(users)s)",
        {"all": extraction.scope.is_everyone, "users": list(extraction.users)},
        STORES,
    )
    forgetting = revisions.join(seen, on=("user_id", "agent_id"), how="left", suffix="_seen").filter(
        pl.col("forget_revision") != pl.col("forget_revision_seen").fill_null(0)
    )
    left_out = overtaken | set(forgetting["user_id"])
    if extraction.users and left_out >= set(extraction.users):
        return None
    return tuple(sorted(left_out))


def _records(workspace: Workspace, left_out: tuple[str, ...], news: Recheck) -> pl.DataFrame:
    """The judged records without their texts, with what the re-check found against them."""
    records = workspace.read_all("pairs", _RECORD_KEYS).filter(~pl.col("user_id").is_in(left_out))
    if news.verdicts.is_empty():
        return records
    met = records.join(news.verdicts, on=SOURCE, how="left", maintain_order="left").with_columns(
        pl.when(pl.col("recheck_verdict") == Reason.SESSION_FORGOTTEN.value)
        .then("recheck_verdict")
        .otherwise(pl.coalesce("verdict", "recheck_verdict"))
        .alias("verdict")
    )
    others = (
        news.verdicts.join(records, on=SOURCE, how="anti")
        .rename({"recheck_verdict": "verdict"})
        .match_to_schema(_RECORD_KEYS, missing_columns="insert")
    )
    return pl.concat([met.select(*_RECORD_KEYS), others])


def _fresh_chunks(
    workspace: Workspace, left_out: tuple[str, ...], records: pl.DataFrame, recipe: Recipe
) -> pl.DataFrame:
    columns = [name for name in CHUNKS if name not in CONTENT]
    return (
        workspace.read_all("chunks", CHUNKS, columns)
        .filter(~pl.col("user_id").is_in(left_out))
        .join(records.filter(pl.col("verdict").is_not_null()), on=SOURCE, how="anti", maintain_order="left")
        .with_columns(pl.lit(recipe.model).alias("model"), pl.lit(recipe.fingerprint).alias("recipe"))
        .match_to_schema(CHUNK_KEYS)
    )


def _stage_scope(
    connection: psycopg.Connection[Any],
    extent: Extent,
    records: pl.DataFrame,
    news: Recheck,
    left_out: tuple[str, ...],
) -> None:
    """Fill the temporary tables that say which stored rows this publish may touch."""
    connection.execute(statement("create_build_scope"))
    outside = pl.col("user_id").is_in(left_out)
    connection.execute(
        "insert into scope_user select unnest(%s::text[])", [[u for u in extent.whole_users if u not in left_out]]
    )
    sessions = pl.concat([extent.sessions, news.forgotten]).unique().filter(~outside)
    copy_frame(connection, "scope_session", sessions, dict.fromkeys(sessions.columns, "text"))
    if not extent.is_everything:
        sources = pl.concat([records.select(*SOURCE), extent.records]).unique().filter(~outside)
        copy_frame(connection, "scope_source", sources, _SOURCE_COLUMNS)
    frozen = records.filter(pl.col("verdict") == Reason.CONTRACT_BROKEN.value).select(*SOURCE)
    copy_frame(connection, "frozen_source", frozen, _SOURCE_COLUMNS)
    connection.execute("insert into left_out_user select unnest(%s::text[])", [list(left_out)])


def _stored(
    connection: psycopg.Connection[Any], extraction: Extraction, records: pl.DataFrame
) -> pl.DataFrame:
    name = "read_all_stored_chunks" if extraction.is_everything else "read_stored_chunks"
    return read_frame(connection, statement(name), {}, CHUNK_KEYS).with_columns(
        pl.col("spans").str.replace_all(" ", "", literal=True)
    )


def _history(connection: psycopg.Connection[Any], diff: ChunkDiff) -> pl.DataFrame:
    touched = (
        pl.concat(
            [
                diff.removed.select(*SOURCE, "session_id"),
                diff.inserted.select(*SOURCE, "session_id"),
            ]
        )
        .unique(SOURCE)
        .sort(*SOURCE)
    )
    is_new = connection.execute(
        "select not exists (select from memory.change) and not exists (select from memory.skipped)"
    ).fetchone()
    if touched.is_empty() or (is_new is not None and is_new[0] and diff.removed.is_empty()):
        return pl.DataFrame(schema=HISTORY)
    copy_frame(connection, "touched_source", touched, {**_SOURCE_COLUMNS, "session_id": "text"})
    connection.execute("analyze touched_source")
    return read_frame(connection, statement("read_source_history"), {}, HISTORY)


def _vectors(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    diff: ChunkDiff,
    wanted: pl.DataFrame,
    recipe: Recipe,
) -> pl.DataFrame:
    """Return the vectors of rows to insert that the workspace lacks, before anything is deleted."""
    has = workspace.read_all("vectors", VECTORS, [*TEXT_KEY, "is_fetched"]).filter("is_fetched")
    missing = wanted.select(*TEXT_KEY).unique().join(has, on=TEXT_KEY, how="anti")
    found = find_known(connection, missing, recipe.model, fetch=True)
    lost = missing.join(found, on=TEXT_KEY, how="anti").height
    if lost:
        raise BuildFailed(
            f"{lost} embeddings this build counted on are gone from the cache; a forget or a clean-up ran meanwhile. "
            "Run the build again."
        )
    return found


def _apply(
    connection: psycopg.Connection[Any],
    workspace: Workspace,
    extraction: Extraction,
    diff: ChunkDiff,
    fresh: pl.DataFrame,
    vectors: pl.DataFrame,
    build_id: int,
) -> None:
    if extraction.is_full:
        connection.execute(statement("delete_scope_chunks"), {"everyone": extraction.is_everything})
        inserted = fresh
    else:
        if diff.removed.height:
            copy_frame(connection, "doomed_chunk", diff.removed, {**_SOURCE_COLUMNS, "chunk_index": "int4"})
            connection.execute("analyze doomed_chunk")
            connection.execute(statement("delete_chunks"))
        inserted = diff.inserted
        if diff.updated.height:
            columns = {name: _CHUNK_COLUMNS[name] for name in CHUNK_KEYS if name != "model"}
            copy_frame(connection, "updated_chunk", diff.updated, columns)
            connection.execute(statement("update_chunks"), {"build_id": build_id})
    if inserted.is_empty():
        return
    places = inserted.select(*PLACE)
    for part in workspace.parts("chunks"):
        rows = workspace.read("chunks", part).join(places, on=PLACE, how="semi", maintain_order="left")
        if rows.is_empty():
            continue
        known = workspace.read("vectors", part, [*TEXT_KEY, "embedding"]).filter(pl.col("embedding").is_not_null())
        both = pl.concat([known, vectors.select(*TEXT_KEY, "embedding")]).unique(TEXT_KEY, keep="first")
        complete = rows.join(both, on=TEXT_KEY, how="left", maintain_order="left").with_columns(
            pl.lit(None, dtype=pl.String).alias("language"),
            pl.lit(extraction.recipe).alias("recipe"),
            pl.lit(build_id).alias("build_id"),
        )
        copy_frame(connection, "memory.chunk", complete, _CHUNK_COLUMNS)


def _record_changes(connection: psycopg.Connection[Any], diff: ChunkDiff, build_id: int) -> None:
    changed_at = connection.execute("select now()").fetchone()
    rows = [
        frame.select(*PLACE, "content_hash", "reason").with_columns(pl.lit(action.value).alias("action"))
        for action, frame in (
            (Action.REMOVED, diff.removed),
            (Action.ADDED, diff.inserted),
            (Action.UPDATED, diff.updated),
        )
    ]
    changes = pl.concat(rows).with_columns(
        pl.lit(build_id).alias("build_id"),
        pl.lit(changed_at[0] if changed_at else None, dtype=pl.Datetime("us", "UTC")).alias("changed_at"),
    )
    copy_frame(
        connection,
        "memory.change",
        changes,
        {
            "build_id": "int8",
            **_SOURCE_COLUMNS,
            "chunk_index": "int4",
            "content_hash": "bytea",
            "action": "text",
            "reason": "text",
            "changed_at": "timestamptz",
        },
    )


def _record_skips(
    connection: psycopg.Connection[Any], extraction: Extraction, records: pl.DataFrame, build_id: int
) -> None:
    """End the skips that hold no longer and begin the new ones; a skip that goes on is not touched."""
    skips = _skips(records)
    copy_frame(connection, "fresh_skip", skips, {**_SOURCE_COLUMNS, "reason": "text"})
    connection.execute("analyze fresh_skip")
    parameters = {"build_id": build_id, "everyone": extraction.is_everything}
    connection.execute(statement("end_skips"), parameters)
    connection.execute(statement("begin_skips"), parameters)


def _skips(records: pl.DataFrame) -> pl.DataFrame:
    return (
        records.with_columns(pl.coalesce("verdict", "reply_verdict").alias("reason"))
        .filter(pl.col("reason").is_in(SKIPPED_REASONS))
        .select(*SOURCE, "reason")
    )


def _plan_arrays(extraction: Extraction) -> dict[str, list[Any]]:
    flat = [
        (plan, source, reason)
        for plan, statuses in extraction.plan_statuses.items()
        for source, reason in statuses.items()
    ]
    return {
        "plan_keys": [plan for plan, _, _ in flat],
        "source_keys": [source for _, source, _ in flat],
        "reasons": [reason for _, _, reason in flat],
    }


def _tend_cache(connection: psycopg.Connection[Any], diff: ChunkDiff, cache_days: int) -> None:
    """Keep the vectors of what left, count their days, and drop those of what was deleted."""
    if diff.removed.is_empty():
        return
    left = diff.removed.select("user_id", "agent_id", "content_hash").unique()
    copy_frame(connection, "left_text", left, {"user_id": "text", "agent_id": "text", "content_hash": "bytea"})
    connection.execute(statement("touch_cached_embeddings"))
    gone = (Reason.MESSAGE_DELETED, Reason.SESSION_DELETED, Reason.ACCOUNT_DELETED)
    stores = diff.removed.filter(pl.col("reason").is_in([reason.value for reason in gone]))
    if stores.height:
        copy_frame(
            connection,
            "bereft_store",
            stores.select("user_id", "agent_id").unique(),
            {"user_id": "text", "agent_id": "text"},
        )
        connection.execute(statement("drop_embeddings_of_deleted"))
    connection.execute(
        "delete from memory.embedding_cache as cached"
        " where cached.used_at < now() - make_interval(days => %s)"
        "   and not exists (select from memory.chunk as live"
        "                    where (live.user_id, live.agent_id, live.content_hash)"
        "                        = (cached.user_id, cached.agent_id, cached.content_hash))",
        [cache_days],
    )


def _refuse_unfit(connection: psycopg.Connection[Any], news: Recheck, build_id: int) -> None:
    row = connection.execute(
        statement("count_unfit_chunks"), {"build_id": build_id, "snapshot": news.snapshot}
    ).fetchone()
    excluded, forgotten, renumbered = row or (0, 0, 0)
    if excluded or forgotten or renumbered:
        raise NothingStagedMayPass(
            f"Build {build_id} was about to publish {excluded} chunks of excluded pairs, {forgotten} of forgotten "
            f"sessions and {renumbered} under another pair's number. Nothing was published; memory is as before. "
            "This is a defect: please report it with the build's lineage."
        )


def _move_watermarks(
    connection: psycopg.Connection[Any],
    extraction: Extraction,
    marks: Watermarks,
    left_out: tuple[str, ...],
    build_id: int,
) -> None:
    mark = {
        "snapshot": extraction.snapshot,
        "system_identifier": extraction.system_identifier,
        "database_oid": extraction.database_oid,
        "recipe": extraction.recipe,
        "plan_statuses": psycopg.types.json.Jsonb(extraction.plan_statuses),
        "build_id": build_id,
    }
    if extraction.scope.is_everyone:
        # Whoever was left out keeps following the mark that was in force for them.
        behind = [user for user in left_out if user not in marks.people]
        connection.execute(statement("keep_people_behind"), {"users": behind, "bucket": BUCKET, "build_id": build_id})
        connection.execute(
            "delete from memory.watermark where scope <> %s and scope <> all(%s)",
            [BUCKET, [f"user:{user}" for user in left_out]],
        )
        scopes = [BUCKET]
    else:
        scopes = [f"user:{user}" for user in extraction.users if user not in left_out]
    for scope in scopes:
        connection.execute(statement("move_watermark"), {"scope": scope, **mark})


def _counts(
    workspace: Workspace,
    diff: ChunkDiff,
    fresh: pl.DataFrame,
    records: pl.DataFrame,
    extraction: Extraction,
    left_out: tuple[str, ...],
) -> Published:
    written = fresh if extraction.is_full else diff.inserted
    reasons = {
        action.value: dict(frame.group_by("reason").len().sort("reason").iter_rows())
        for action, frame in (
            (Action.ADDED, diff.inserted),
            (Action.REMOVED, diff.removed),
            (Action.UPDATED, diff.updated),
        )
    }
    skips = _skips(records)
    reasons["skipped"] = dict(skips.group_by("reason").len().sort("reason").iter_rows())
    embedded = workspace.read_all("vectors", VECTORS, [*TEXT_KEY, "is_new"]).filter("is_new")
    return Published(
        records=records.filter(pl.col("verdict").is_null()).height,
        added=diff.inserted.height,
        removed=diff.removed.height,
        updated=diff.updated.height,
        unchanged=diff.unchanged,
        skipped=skips.height,
        embedded=embedded.height,
        from_cache=written.join(embedded, on=TEXT_KEY, how="anti").height,
        left_out=left_out,
        reasons=reasons,
    )


def _close_build(
    connection: psycopg.Connection[Any],
    build_id: int,
    extraction: Extraction,
    news: Recheck,
    published: Published,
) -> None:
    connection.execute(
        statement("close_published_build"),
        {
            "build_id": build_id,
            "snapshot": extraction.snapshot,
            "recheck_snapshot": news.snapshot,
            "recipe": extraction.recipe,
            "note": extraction.why_everything,
            "records": published.records,
            "added": published.added,
            "removed": published.removed,
            "updated": published.updated,
            "unchanged": published.unchanged,
            "skipped": published.skipped,
            "embedded": published.embedded,
            "from_cache": published.from_cache,
            "superseded_stores": len(published.left_out),
        },
    )
