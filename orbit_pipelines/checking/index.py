"""The index is a function of its sources: what is stored is what an extraction yields, key for key."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.diff import CHUNK_KEYS, PLACE, SOURCE, diff_chunks
from orbit_pipelines.building.hashing import content_hashes, load_hash_key
from orbit_pipelines.building.recipe import TEXT_FORMAT
from orbit_pipelines.building.scope import (
    SESSION_KEY,
    Extent,
    Scope,
    Watermarks,
    changes_since,
    read_cluster,
    read_watermarks,
)
from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.reach import looking_at, reach_of
from orbit_pipelines.checking.staged_parts import StagedPart, make_parts, read_parts
from orbit_pipelines.database.frames import read_batches
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.settings import Settings
from orbit_pipelines.sources.resolution import resolve_all_accounts

_NAME = "index_equals_extraction"
_STORED = pl.Schema({**CHUNK_KEYS, "content": pl.String()})
_PAIRS = pl.Schema({**dict.fromkeys((*SOURCE, "session_id"), pl.String()), "run_index": pl.Int32()})


@dataclass(frozen=True, slots=True)
class _Expected:
    """What memory is compared with: whose, made by which recipe, staged how. ``is_followed`` tells people apart."""

    scope: Scope
    recipe: str
    is_followed: pl.Expr
    parts: Iterable[StagedPart]


def index_equals_extraction(
    connection: psycopg.Connection[Any], settings: Settings, build: BuildOfRun | None = None
) -> Finding:
    """Whether memory holds the chunks of an extraction, no more, no fewer, each described alike and true to its hash.

    After a build the extraction is its own, and only what it looked at is compared; without one, everything is taken
    afresh, up to the chunks. What changed since the watermark is pending and left out, as is what is in quarantine:
    builds leave that alone.

    Args:
        connection: in autocommit.
        settings: how texts are cut and hashed.
        build: the build whose publish is looked at.
    """
    with looking_at(connection, reach_of(build)):
        stored, untrue = _read_stored(connection, load_hash_key(settings))
        if build is None:
            marks = read_watermarks(connection, Scope())
            expected = _expect_everything(connection, settings, marks)
        else:
            marks = read_watermarks(connection, build.extraction.scope)
            expected = _expect_of(build, marks)
        if expected is None:
            return _finding(stored.clear(), stored.clear(), untrue, pending=stored.height)
        fresh, pairs, frozen = _gather(connection, expected)
        pending = changes_since(
            connection,
            expected.scope,
            marks,
            cluster=read_cluster(connection),
            recipe=expected.recipe,
            plans=resolve_all_accounts(connection),
        )

    def settled(chunks: pl.DataFrame) -> pl.DataFrame:
        followed = chunks.filter(expected.is_followed)
        return _leave_out(followed, pending, pairs).join(frozen, on=SOURCE, how="anti", maintain_order="left")

    compared = settled(stored)
    return _finding(compared, settled(fresh), untrue, pending=stored.height - compared.height)


def _expect_of(build: BuildOfRun, marks: Watermarks) -> _Expected:
    parts = () if build.extraction.is_unchanged else read_parts(build.workspace)
    # A forget that came after the publish took its stores out of what was staged.
    forgotten = [store.user_id for store in build.workspace.forgotten_stores()]
    is_followed = _published_by(marks, build.build_id) & ~pl.col("user_id").is_in(forgotten)
    return _Expected(build.extraction.scope, build.extraction.recipe, is_followed, parts)


def _expect_everything(connection: psycopg.Connection[Any], settings: Settings, marks: Watermarks) -> _Expected | None:
    """Return what a full build would stage; None where the next build makes every chunk anew anyway."""
    # Some people may have been built by themselves before any build of everyone.
    newest = marks.bucket or max(marks.people.values(), key=lambda mark: mark.build_id, default=None)
    if newest is None or not _cuts_alike(connection, newest.recipe, settings):
        return None
    scope = Scope() if marks.bucket else Scope(tuple(sorted(marks.people)))
    is_followed = pl.lit(value=True) if marks.bucket else pl.col("user_id").is_in(list(marks.people))
    return _Expected(scope, newest.recipe, is_followed, make_parts(connection, settings))


def _finding(stored: pl.DataFrame, fresh: pl.DataFrame, untrue: pl.DataFrame, *, pending: int) -> Finding:
    diff = diff_chunks(stored, fresh)
    other_text = diff.removed.join(diff.inserted, on=PLACE, how="semi")
    missing = diff.inserted.join(other_text, on=PLACE, how="anti")
    extra = diff.removed.join(other_text, on=PLACE, how="anti")
    failures = {
        "missing": missing,
        "extra": extra,
        "of_another_text": other_text,
        "described_otherwise": diff.updated,
        "not_true_to_their_hash": untrue,
    }
    return find(
        _NAME,
        failures={name: rows.height for name, rows in failures.items()},
        seen={"chunks": stored.height, "pending": pending},
        examples=[name_of(*key) for rows in failures.values() for key in rows.select(*PLACE).iter_rows()],
    )


def _read_stored(connection: psycopg.Connection[Any], key: bytes) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the stored chunks within reach, and the keys of those whose text is not what was hashed."""
    kept, untrue = [pl.DataFrame(schema=CHUNK_KEYS)], [pl.DataFrame(schema=CHUNK_KEYS).select(*PLACE)]
    for batch in read_batches(
        connection, statement("list_checked_chunks"), {}, _STORED, batch_rows=20_000, whole=SOURCE
    ):
        hashed = content_hashes(batch["content"], key).alias("text_hash")
        is_untrue = pl.col("text_hash") != pl.col("content_hash")
        untrue.append(batch.with_columns(hashed).filter(is_untrue).select(*PLACE))
        # jsonb is printed with blanks; class names have none.
        kept.append(batch.select(*CHUNK_KEYS).with_columns(pl.col("spans").str.replace_all(" ", "", literal=True)))
    return pl.concat(kept), pl.concat(untrue)


def _gather(
    connection: psycopg.Connection[Any], expected: _Expected
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the staged chunks, the staged pairs with their runs, and the sources that are in quarantine."""
    row = connection.execute("select model from memory.recipe where recipe = %s", [expected.recipe]).fetchone()
    model, recipe = pl.lit(row[0] if row else None, dtype=pl.String), pl.lit(expected.recipe)
    chunks = [pl.DataFrame(schema=CHUNK_KEYS)]
    pairs = [pl.DataFrame(schema=_PAIRS)]
    frozen = [pl.DataFrame(schema=_PAIRS).select(*SOURCE)]
    for part in expected.parts:
        chunks.append(
            part.chunks.with_columns(model.alias("model"), recipe.alias("recipe")).match_to_schema(CHUNK_KEYS)
        )
        pairs.append(part.pairs.select(*_PAIRS))
        frozen.append(part.pairs.filter(pl.col("verdict") == Reason.CONTRACT_BROKEN.value).select(*SOURCE))
    return pl.concat(chunks), pl.concat(pairs), pl.concat(frozen)


def _leave_out(chunks: pl.DataFrame, pending: Extent, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the chunks that nothing changed since their watermark could have changed."""
    if pending.is_everything:
        return chunks.clear()
    of_runs = pairs.join(pending.runs, on=(*SESSION_KEY, "run_index"), how="semi").select(*SOURCE)
    sessions = pending.sessions.with_columns(pl.lit(CHAT_HISTORY).alias("source_key"))
    return (
        chunks.filter(~pl.col("user_id").is_in(pending.whole_users))
        .join(sessions, on=(*SESSION_KEY, "source_key"), how="anti", maintain_order="left")
        .join(of_runs, on=SOURCE, how="anti", maintain_order="left")
        .join(pending.records, on=SOURCE, how="anti", maintain_order="left")
    )


def _published_by(marks: Watermarks, build_id: int) -> pl.Expr:
    """Return which people's memory is still as a build left it: another may have published them since, or before."""
    own = {user: mark.build_id == build_id for user, mark in marks.people.items()}
    if marks.bucket is not None and marks.bucket.build_id == build_id:
        return ~pl.col("user_id").is_in([user for user, is_own in own.items() if not is_own])
    return pl.col("user_id").is_in([user for user, is_own in own.items() if is_own])


def _cuts_alike(connection: psycopg.Connection[Any], recipe: str, settings: Settings) -> bool:
    """Whether a recipe cuts texts as these settings do; if not, the next build makes every chunk anew."""
    row = connection.execute("select details from memory.recipe where recipe = %s", [recipe]).fetchone()
    chunker = ChunkerSettings(max_characters=settings.chunk_characters).fingerprint
    return row is not None and (row[0].get("chunker"), row[0].get("text_format")) == (chunker, TEXT_FORMAT)
