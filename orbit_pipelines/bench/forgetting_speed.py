"""How long a forget takes in one large store, for the person who asked and for what could still be recalled."""

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from orbit_pipelines.bench.corpus import PAIRS_PER_SESSION, pair_keys, store_pairs
from orbit_pipelines.bench.measuring import Announce
from orbit_pipelines.bench.places import Place, bench_database
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.forgetting.service import Progress, forget
from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.model import Mode

_USER = "u00"
_PAIRS_AT_A_TIME = 20_000
_CHUNKS_A_PAIR = 1.85
_DIMENSIONS = 384
_AFTER_ROWS = "workspaces"
"""The first kind whose turn comes when chunks and cache are gone."""


@dataclass(frozen=True, slots=True)
class SpeedMeasured:
    """Seconds from the call, in a store of ``chunks`` chunks: medians of several single sessions.

    ``fence_seconds``: until tombstone and revision are committed. ``rows_seconds``: until chunks and the cache are
    deleted; ``first_rows_seconds``: the same of the first one, which finds a cache with every vector of the store in
    it. ``verified_seconds``: until everything is done, verification by every road and vacuum too.
    """

    chunks: int
    sessions: int
    fence_seconds: float
    first_rows_seconds: float
    rows_seconds: float
    verified_seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return asdict(self)


def measure_speed(
    place: Place, chunks: int, sessions: int = 5, announce: Announce = lambda _what: None
) -> SpeedMeasured:
    """Measure forgetting single sessions of a store of about so many chunks."""
    pairs = max(PAIRS_PER_SESSION * (sessions + 1), round(chunks / _CHUNKS_A_PAIR))
    announce(f"a store of about {chunks:,} chunks: loading and building")
    with bench_database(place) as settings, connect(str(settings.database_url), autocommit=True) as connection:
        create_account(connection, _USER)
        _load(connection, pairs)
        with connect(str(settings.database_url), autocommit=True) as building:
            build(BuildRun(building, settings, BuildRequest(Mode.FULL), FakeEmbedder(_DIMENSIONS), "bench-speed"))
        connection.execute("vacuum analyze memory.chunk, memory.embedding_cache, memory.change")
        row = connection.execute("select count(*) from memory.chunk").fetchone()
        laps = []
        for number in range(sessions):
            announce(f"forgetting session {number + 1} of {sessions}")
            laps.append(_forget(connection, settings, f"c{number * 7 % (pairs // PAIRS_PER_SESSION):06d}"))
    fence, rows, verified = (median(each) for each in zip(*laps, strict=True))
    return SpeedMeasured(int(row[0]) if row else 0, sessions, fence, laps[0][1], rows, verified)


def _load(connection: Any, pairs: int) -> None:
    for first in range(0, pairs, _PAIRS_AT_A_TIME):
        numbers = np.arange(first, min(first + _PAIRS_AT_A_TIME, pairs))
        keys = pair_keys(numbers).with_columns(pl.lit(_USER).alias("user_id"))
        with connection.transaction():
            connection.cursor().executemany(
                "insert into orbitpilot.session (user_id, agent_id, session_id, next_pair_index)"
                " values (%s, %s, %s, %s)",
                keys.group_by("user_id", "agent_id", "session_id", maintain_order=True)
                .agg(pl.col("pair_index").max() + 1)
                .rows(),
            )
            store_pairs(connection, keys, numbers, seed=7)
    connection.execute("vacuum analyze orbitpilot.session, orbitpilot.message, memory.pair")


def _forget(connection: Any, settings: Any, session: str) -> tuple[float, float, float]:
    laps: dict[str, float] = {}

    def lap(name: str) -> None:
        laps.setdefault(name, time.perf_counter() - began)

    began = time.perf_counter()
    progress = Progress(on_kind=lap, on_fence=lambda: lap("fence"))
    forget(connection, settings, ForgetRequest(Selectors(_USER, sessions=(session,))), progress=progress)
    lap("done")
    return laps["fence"], laps[_AFTER_ROWS], laps["done"]
