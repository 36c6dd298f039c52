"""What was staged for memory, part by part and without any text: a build's frames, or all of it made afresh.

Made afresh it never touches a disk, and no build is begun: an audit takes everything there is, as a full build would,
up to the chunks, and keeps only keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.admissions import kept_out_of, read_admissions
from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.chunks import CHUNKS, CONTENT, make_chunks
from orbit_pipelines.building.extraction import QUARANTINED, SOURCES, as_it_is_now
from orbit_pipelines.building.hashing import key_fingerprint, load_hash_key
from orbit_pipelines.building.installation import require_hash_key
from orbit_pipelines.building.other_records import STORED_RECORDS, shape_records
from orbit_pipelines.building.pairing import MESSAGES, pair_messages
from orbit_pipelines.building.scope import RECORD_KEY, SESSION_KEY, Extent
from orbit_pipelines.building.verdicts import JUDGED, TEXTS, judge
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.frames import read_batches, read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.settings import Settings
from orbit_pipelines.sources.resolution import default_plan, resolve_plans, statuses_to_json


def _without(schema: pl.Schema, *texts: str) -> pl.Schema:
    return pl.Schema({name: dtype for name, dtype in schema.items() if name not in texts})


MESSAGE_KEYS = _without(MESSAGES, "content")
RECORD_KEYS = _without(STORED_RECORDS, "title", "content")
PAIR_KEYS = _without(JUDGED, *TEXTS)
STAGED_CHUNKS = _without(CHUNKS, *CONTENT)


@dataclass(frozen=True, slots=True)
class StagedPart:
    """Some whole sessions' or some records' way into memory, without their texts; frames of the schemas above."""

    messages: pl.DataFrame
    records: pl.DataFrame
    pairs: pl.DataFrame
    chunks: pl.DataFrame


def read_parts(workspace: Workspace) -> Iterator[StagedPart]:
    """Yield what a build has staged; a part that a forget took away meanwhile is not there."""

    def read(frame: str, part: str, schema: pl.Schema) -> pl.DataFrame:
        if not workspace.has_part(frame, part):
            return pl.DataFrame(schema=schema)
        return workspace.read(frame, part, list(schema))

    for part in workspace.parts("pairs"):
        yield StagedPart(
            messages=read("messages", part, MESSAGE_KEYS),
            records=read("records", part, RECORD_KEYS),
            pairs=read("pairs", part, PAIR_KEYS),
            chunks=read("chunks", part, STAGED_CHUNKS),
        )


def make_parts(connection: psycopg.Connection[Any], settings: Settings) -> Iterator[StagedPart]:
    """Yield what a full build of everyone would stage now.

    Args:
        connection: in a transaction of the caller's, REPEATABLE READ: all parts are then of one moment.
        settings: how texts are cut, the key they are hashed under, how many messages are taken at a time.

    Raises:
        InstallationMismatch: memory was built under another hash key.
    """
    key = load_hash_key(settings)
    require_hash_key(connection, key_fingerprint(key))
    chunker = ChunkerSettings(max_characters=settings.chunk_characters)
    everything = as_it_is_now(Extent(is_everything=True), with_kept_out=False)
    everything |= kept_out_of(read_admissions(connection, everything))
    sources = _sources(connection)
    quarantined = read_frame(connection, statement("find_broken_sessions"), everything, QUARANTINED)

    def batches(name: str, schema: pl.Schema, whole: tuple[str, ...]) -> Iterator[pl.DataFrame]:
        return read_batches(
            connection, statement(name), everything, schema, batch_rows=settings.batch_messages, whole=whole
        )

    def stage(messages: pl.DataFrame, records: pl.DataFrame, shaped: pl.DataFrame) -> StagedPart:
        pairs = judge(shaped, sources, quarantined)
        chunks = make_chunks(pairs, chunker, key)
        return StagedPart(
            messages=messages.select(*MESSAGE_KEYS),
            records=records.select(*RECORD_KEYS),
            pairs=pairs.select(*PAIR_KEYS),
            chunks=chunks.select(*STAGED_CHUNKS),
        )

    for batch in batches("extract_messages", MESSAGES, SESSION_KEY):
        yield stage(batch, pl.DataFrame(schema=STORED_RECORDS), pair_messages(batch))
    for batch in batches("extract_records", STORED_RECORDS, RECORD_KEY):
        yield stage(pl.DataFrame(schema=MESSAGES), batch, shape_records(batch))


def _sources(connection: psycopg.Connection[Any]) -> pl.DataFrame:
    accounts = read_frame(
        connection,
        b"select user_id, coalesce(plan_key, %(plan)s) from orbitpilot.account order by user_id",
        {"plan": default_plan(connection)},
        pl.Schema({"user_id": pl.String(), "plan_key": pl.String()}),
    )
    statuses = pl.DataFrame(
        [
            (plan, source, reason)
            for plan, each in statuses_to_json(resolve_plans(connection)).items()
            for source, reason in each.items()
        ],
        schema={"plan_key": pl.String, "source_key": pl.String, "source_reason": pl.String},
        orient="row",
    )
    return accounts.join(statuses, on="plan_key").select(*SOURCES)
