"""What a publish compares: the fresh rows of the workspace and the stored rows within its reach, a share at a time.

Everything here runs inside the publishing transaction, after the lock and the re-check.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.admissions import keep_out
from orbit_pipelines.building.chunks import CHUNKS, CONTENT
from orbit_pipelines.building.diff import CHUNK_KEYS, PLACE, SKIPS, SOURCE, ChunkDiff
from orbit_pipelines.building.embedding import TEXTS as TEXT_KEY
from orbit_pipelines.building.embedding import find_known
from orbit_pipelines.building.extraction import Extraction
from orbit_pipelines.building.reasons import HISTORY
from orbit_pipelines.building.recheck import Recheck
from orbit_pipelines.building.recipe import Recipe
from orbit_pipelines.building.scope import SESSION_KEY, Extent
from orbit_pipelines.building.shares import EVERYBODY, Share
from orbit_pipelines.building.verdicts import JUDGED, TEXTS
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import arrays, read_frame, slices
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import BuildFailed
from orbit_pipelines.model import CHAT_HISTORY, Reason

_SOURCES_A_SLICE = 20_000
_RECORD_KEYS = pl.Schema({name: dtype for name, dtype in JUDGED.items() if name not in TEXTS})


@dataclass(frozen=True, slots=True)
class Publication:
    """One publish under way: its transaction, whom it may not publish, and the share of its people that it is at.

    ``is_first``: no lineage was there before it.
    """

    connection: psycopg.Connection[Any]
    workspace: Workspace
    extraction: Extraction
    extent: Extent
    recipe: Recipe
    build_id: int
    left_out: tuple[str, ...]
    is_first: bool
    share: Share = EVERYBODY

    def at(self, share: Share) -> "Publication":
        """Return the publication as it is at a share."""
        return replace(self, share=share)

    def mine(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of people this share may publish; by ``user_id``."""
        rows = self.share.of(rows)
        return rows.filter(~pl.col("user_id").is_in(self.left_out)) if self.left_out else rows


@dataclass(frozen=True, slots=True)
class Reach:
    """The stored rows a share may touch: everyone's in it, or whole people's, whole sessions' and single sources'.

    ``frozen``: sources of quarantined sessions, whose chunks stay as they are. ``left_out``: people nothing of whom is
    touched, and ``bounds``: those of the share; only a publish of everything needs to be told.
    """

    is_everything: bool
    users: tuple[str, ...]
    sessions: pl.DataFrame
    sources: pl.DataFrame
    frozen: pl.DataFrame
    left_out: tuple[str, ...]
    bounds: dict[str, str | None]

    def slices(self) -> Iterator[dict[str, Any]]:
        """Yield parameters of statements that read within reach, at least once, with so many sources each."""
        whole = {"reached_users": list(self.users), **arrays(self.sessions, "session_")}
        none: dict[str, Any] = {name: [] for name in whole}
        for start in range(0, max(self.sources.height, 1), _SOURCES_A_SLICE):
            yield {**(none if start else whole), **arrays(self.sources[start : start + _SOURCES_A_SLICE], "source_")}


def gather_records(publication: Publication, news: Recheck) -> pl.DataFrame:
    """Return the judged records without their texts, with what the re-check found against them."""
    records = publication.mine(publication.share.read(publication.workspace, "pairs", _RECORD_KEYS))
    kept_out = pl.concat([news.kept_out, news.kept_out_before])
    if news.verdicts.is_empty() and news.forgotten.is_empty():
        return keep_out(records, kept_out)
    forgotten = news.forgotten.with_columns(
        pl.lit(CHAT_HISTORY).alias("source_key"), pl.lit(value=True).alias("is_forgotten_now")
    )
    would_bring_reply = pl.col("has_reply") & pl.col("reply_verdict").is_null()
    met = (
        records.join(news.verdicts, on=SOURCE, how="left", maintain_order="left")
        # Also those of a session whose pairs the ledger has under another name by now.
        .join(forgotten, on=(*SESSION_KEY, "source_key"), how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("is_forgotten_now") | (pl.col("recheck_verdict") == Reason.SESSION_FORGOTTEN.value))
            .then(pl.lit(Reason.SESSION_FORGOTTEN.value))
            .when(pl.col("is_of_reply") & ~would_bring_reply)
            .then("verdict")
            .otherwise(pl.coalesce("verdict", "recheck_verdict"))
            .alias("verdict")
        )
    )
    others = (
        news.verdicts.filter(~pl.col("is_of_reply") | pl.col("is_held"))
        .join(records, on=SOURCE, how="anti")
        .rename({"recheck_verdict": "verdict"})
        .drop("is_of_reply", "is_held")
        .match_to_schema(_RECORD_KEYS, missing_columns="insert")
    )
    return keep_out(pl.concat([met.select(*_RECORD_KEYS), others]), kept_out)


def gather_chunks(publication: Publication, records: pl.DataFrame) -> pl.DataFrame:
    """Return the keys of the fresh chunks, but for those of records something stands against."""
    columns = [name for name in CHUNKS if name not in CONTENT]
    return (
        publication.mine(publication.share.read(publication.workspace, "chunks", CHUNKS, columns))
        .join(records.filter(pl.col("verdict").is_not_null()), on=SOURCE, how="anti", maintain_order="left")
        .with_columns(
            pl.lit(publication.recipe.model).alias("model"), pl.lit(publication.recipe.fingerprint).alias("recipe")
        )
        .match_to_schema(CHUNK_KEYS)
    )


def reach_of(publication: Publication, records: pl.DataFrame, news: Recheck) -> Reach:
    """Return which stored rows this share may touch."""
    extent = publication.extent
    people = pl.DataFrame({"user_id": extent.whole_users}, schema={"user_id": pl.String})
    sources = records.select(*SOURCE)
    if extent.is_everything:
        sources = sources.clear()
    return Reach(
        is_everything=extent.is_everything,
        users=tuple(publication.mine(people)["user_id"]),
        sessions=publication.mine(pl.concat([extent.sessions, news.forgotten]).unique()),
        sources=pl.concat([sources, publication.mine(extent.records)]).unique(),
        frozen=records.filter(pl.col("verdict") == Reason.CONTRACT_BROKEN.value).select(*SOURCE),
        left_out=publication.left_out,
        bounds=publication.share.bounds,
    )


def read_stored(publication: Publication, reach: Reach) -> pl.DataFrame:
    """Return the stored chunks within reach, as the diff compares them.

    One whose vector is of another length than the recipe's has no model: what was made under it isn't there.
    """
    rows = _read(publication, reach, "chunks", CHUNK_KEYS)
    if not reach.is_everything:
        rows = rows.unique(PLACE, keep="any")
    if reach.frozen.height:
        rows = rows.join(reach.frozen, on=SOURCE, how="anti")
    # jsonb is printed with blanks; class names have none.
    return rows.with_columns(pl.col("spans").str.replace_all(" ", "", literal=True))


def read_skips(publication: Publication, reach: Reach) -> pl.DataFrame:
    """Return the skips in force within reach, ``SKIPS``."""
    rows = _read(publication, reach, "skips", SKIPS)
    return rows if reach.is_everything else rows.unique(SOURCE, keep="any")


def _read(publication: Publication, reach: Reach, what: str, schema: pl.Schema) -> pl.DataFrame:
    asked = {"dimensions": publication.recipe.dimensions}
    if reach.is_everything:
        whom = {**asked, "left_out": list(reach.left_out), **reach.bounds}
        return read_frame(publication.connection, statement(f"read_all_stored_{what}"), whom, schema)
    query = statement(f"read_stored_{what}")
    return pl.concat([read_frame(publication.connection, query, {**asked, **each}, schema) for each in reach.slices()])


def read_history(publication: Publication, diff: ChunkDiff, records: pl.DataFrame) -> pl.DataFrame:
    """Return what lineage knows of the sources that a diff adds to, or takes from though nothing stands against them.

    Why others left, their verdict says; and on a first build there is nothing to ask.
    """
    if diff.removed.is_empty() and publication.is_first:
        return pl.DataFrame(schema=HISTORY)
    judged = records.filter(pl.col("verdict").is_not_null())
    touched = pl.concat(
        [
            diff.removed.select(*SOURCE, "session_id").join(judged, on=SOURCE, how="anti"),
            diff.inserted.select(*SOURCE, "session_id"),
        ]
    ).unique(SOURCE)
    if touched.is_empty():
        return pl.DataFrame(schema=HISTORY)
    query = statement("read_source_history")
    return pl.concat([read_frame(publication.connection, query, each, HISTORY) for each in slices(touched)])


def fetch_vectors(publication: Publication, wanted: pl.DataFrame) -> pl.DataFrame:
    """Return the vectors of rows to insert that the workspace lacks. Called before anything is deleted.

    Raises:
        BuildFailed: a vector is neither in the workspace nor in the store any more.
    """
    workspace, places, recipe = publication.workspace, wanted.select(*PLACE), publication.recipe
    if wanted.is_empty():
        return find_known(publication.connection, wanted, recipe.model, recipe.dimensions, fetch=True)
    lacking = [wanted.select(*TEXT_KEY).clear()]
    for part in publication.share.parts_of(workspace, "chunks"):
        # A text may have its vector in another part, but rows are inserted part by part.
        has = workspace.read("vectors", part, [*TEXT_KEY, "is_fetched"]).filter("is_fetched")
        texts = workspace.read("chunks", part, [*PLACE, "content_hash"]).join(places, on=PLACE, how="semi")
        lacking.append(texts.select(*TEXT_KEY).join(has, on=TEXT_KEY, how="anti"))
    missing = pl.concat(lacking).unique()
    found = find_known(publication.connection, missing, recipe.model, recipe.dimensions, fetch=True)
    lost = missing.join(found, on=TEXT_KEY, how="anti").height
    if lost:
        raise BuildFailed(
            f"{lost} embeddings this build counted on are gone from the cache: a forget or a clean-up ran meanwhile. "
            "Nothing was published. Run the build again."
        )
    return found
