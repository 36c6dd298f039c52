"""What a forget leaves of a build that has extracted already: nothing of it is embedded, and the log says so.

The fence is elsewhere: the cache takes nothing of a store whose revision moved, and the publish drops what is
forgotten. This keeps the texts from the embedder, which may be another machine.
"""

import logging
from typing import Any

import polars as pl
import psycopg

from orbit_pipelines.building.scope import SESSION_KEY
from orbit_pipelines.database.frames import arrays, read_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason

_LOGGER = logging.getLogger(__name__)
_STORE = ("user_id", "agent_id")
_FORGOTTEN = pl.Schema(dict.fromkeys(SESSION_KEY, pl.String()))


def without_forgotten(
    connection: psycopg.Connection[Any], chunks: pl.DataFrame, stores: pl.DataFrame, snapshot: str
) -> pl.DataFrame:
    """Return the chunks but for those of sessions forgotten since extraction, and of stores in which a forget began.

    Args:
        connection: in autocommit: what was committed by now counts.
        chunks: ``user_id``, ``agent_id``, ``source_key``, ``session_id``, among others.
        stores: those extraction saw, with their ``forget_revision``; 0 for one that is missing.
        snapshot: the extraction's.
    """
    if chunks.is_empty():
        return chunks
    asked = (
        chunks.select(*_STORE)
        .unique()
        .join(stores, on=_STORE, how="left")
        .select(*_STORE, pl.col("forget_revision").fill_null(0))
    )
    query = statement("find_forgotten_since")
    found = read_frame(connection, query, {"snapshot": snapshot, **arrays(asked)}, _FORGOTTEN)
    if found.is_empty():
        return chunks
    is_session = pl.col("session_id").is_not_null()
    sessions = found.filter(is_session).with_columns(pl.lit(CHAT_HISTORY).alias("source_key"))
    log_forgotten(sessions)
    return chunks.join(sessions, on=[*SESSION_KEY, "source_key"], how="anti", maintain_order="left").join(
        found.filter(~is_session), on=_STORE, how="anti", maintain_order="left"
    )


def log_forgotten(sessions: pl.DataFrame) -> None:
    """Say of each session that it is skipped, and why."""
    if sessions.is_empty():
        return
    for key in sessions.select(*SESSION_KEY).unique().sort(*SESSION_KEY).iter_rows():
        _LOGGER.info("%s: session %s is skipped", Reason.SESSION_FORGOTTEN, "/".join(key))
