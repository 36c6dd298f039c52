"""Forgotten stays forgotten: of a session with a tombstone, memory has neither text, nor vector, nor hash."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.chunking import ChunkerSettings
from orbit_pipelines.building.chunks import make_chunks
from orbit_pipelines.building.extraction import as_it_is_now
from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.pairing import MESSAGES, pair_messages
from orbit_pipelines.building.scope import SESSION_KEY, Extent
from orbit_pipelines.building.verdicts import JUDGED
from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.reach import Reach, count_chunks, looking_at, reach_of
from orbit_pipelines.database.frames import arrays, read_batches, read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.settings import Settings

_FAILURES = {
    "chunk": "chunks_of_forgotten_sessions",
    "record": "forgotten_records_in_memory",
    "open": "records_that_are_not_kept_out",
    "skip": "pairs_left_out_for_another_reason",
    "hash": "hashes_in_lineage",
    "vector": "sessions_with_cached_vectors",
}
_SESSIONS = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))
_HASH = ("user_id", "agent_id", "session_id", "content_hash")


def no_artifact_of_a_forgotten_session(
    connection: psycopg.Connection[Any], settings: Settings, build: BuildOfRun | None = None
) -> Finding:
    """Whether memory holds nothing of a forgotten session.

    Counts are of pairs and records with chunks, with skips for another reason and with hashes in lineage, and of
    sessions with cached vectors. Records caught from a session left memory with it, until their owner takes them back.
    What was forgotten since the build that covers its person is pending.

    The cache tells no session. So the texts are made again from the originals, which stay, hashed, and looked for; one
    that another session says too is that session's.

    Args:
        connection: in autocommit.
        settings: how texts are cut, and the key of their hashes.
        build: looks at the people whose memory this build may have changed, and in the cache for the sessions it read;
            without one, at everything.
    """
    reach = reach_of(build)
    with looking_at(connection, reach):
        seen = {"chunks": count_chunks(connection), "pending": 0}
        rows = connection.execute(statement("check_forgotten")).fetchall()
        sessions = _sessions_to_remake(connection, reach)
        cached = _find_cached(connection, settings, sessions)
    seen["pending"] = len({tuple(key) for _, is_covered, *key in rows if not is_covered})
    broken = [(kind, *key) for kind, is_covered, *key in rows if is_covered] + [("vector", *key) for key in cached]
    failures = dict.fromkeys(_FAILURES.values(), 0)
    for kind, *_ in broken:
        failures[_FAILURES[kind]] += 1
    return find(
        "no_artifact_of_a_forgotten_session",
        failures=failures,
        seen=seen,
        examples=[name_of(*key) for _, *key in broken],
    )


def _sessions_to_remake(connection: psycopg.Connection[Any], reach: Reach) -> pl.DataFrame:
    forgotten = read_frame(connection, statement("list_tombstones_to_check"), {}, _SESSIONS)
    if reach.is_everything:
        return forgotten
    session = pl.col("source_id").str.extract(r"(?s)^(.*):[0-9]+$", 1).alias("session_id")
    read = reach.sources.filter(pl.col("source_key") == CHAT_HISTORY).select("user_id", "agent_id", session)
    whole = pl.col("user_id").is_in(reach.users)
    within = pl.concat([read, reach.sessions]).unique()
    return pl.concat([forgotten.filter(whole), forgotten.filter(~whole).join(within, on=SESSION_KEY, how="semi")])


def _find_cached(
    connection: psycopg.Connection[Any], settings: Settings, sessions: pl.DataFrame
) -> list[tuple[Any, ...]]:
    if sessions.is_empty():
        return []
    found = set()
    for hashes in _remade_hashes(connection, settings, sessions):
        found.update(connection.execute(statement("find_forgotten_embeddings"), arrays(hashes)).fetchall())
    return sorted(found)


def _remade_hashes(
    connection: psycopg.Connection[Any], settings: Settings, sessions: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    parameters = as_it_is_now(Extent(is_everything=False, sessions=sessions), with_kept_out=True)
    chunker, key = ChunkerSettings(max_characters=settings.chunk_characters), load_hash_key(settings)
    for batch in read_batches(
        connection,
        statement("extract_messages"),
        parameters,
        MESSAGES,
        batch_rows=settings.batch_messages,
        whole=SESSION_KEY,
    ):
        records = pair_messages(batch)
        for reply_verdict in (None, Reason.REPLY_NOT_REMEMBERED.value):
            judged = records.with_columns(
                pl.lit(None, pl.String).alias("verdict"),
                pl.lit(reply_verdict, pl.String).alias("reply_verdict"),
                pl.col("reply_text").is_not_null().alias("has_reply"),
            ).match_to_schema(JUDGED)
            yield make_chunks(judged, chunker, key).select(*_HASH).unique()
