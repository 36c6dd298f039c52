"""The steps of a memory's life, W1 to W6, each measured beside its floor in one run on one database."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from orbit_pipelines.bench.corpus import Corpus, append_pairs, edit_pairs, exclude_pairs, remove_person
from orbit_pipelines.bench.floor import make_floor_tables, measure_floor, rows_of_build
from orbit_pipelines.bench.measuring import Measured
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.schema import migrate
from orbit_pipelines.errors import OrbitError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXCLUDED = 50
GROWTH = 200


@dataclass(frozen=True, slots=True)
class StepMeasured:
    """One step beside its floor. ``ratio`` is null where the floor has no rows to copy."""

    step: str
    pairs: int
    seconds: float
    floor_seconds: float
    ratio: float | None
    added: int
    removed: int
    embedded: int
    wal_bytes: int
    peak_mib: float
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to the history, and how the build that follows is called."""

    name: str
    title: str
    change: Callable[[psycopg.Connection[Any], Corpus], object] = lambda _connection, _corpus: None
    mode: str = "incremental"


STEPS = (
    Step("W1", "full build"),
    Step("W2", "nothing changed"),
    Step("W3", "1 % of the pairs edited", lambda c, corpus: edit_pairs(c, corpus, corpus.pairs // 100)),
    Step("W4", f"{EXCLUDED} pairs excluded", lambda c, corpus: exclude_pairs(c, corpus, EXCLUDED)),
    Step("W5", "1 % new pairs", lambda c, corpus: append_pairs(c, corpus, corpus.pairs // 100)),
    Step("W6", "one person of twenty gone", lambda c, _corpus: remove_person(c)),
    Step("W7", "full rebuild of an unchanged history", mode="full"),
)
GROWTH_STEPS = (
    STEPS[0],
    Step("W3g", f"{GROWTH} pairs edited", lambda c, corpus: edit_pairs(c, corpus, GROWTH)),
)


@contextmanager
def bench_database(server_url: str) -> "Iterator[str]":
    """Make a migrated database for one run beside the given one, and drop it afterwards."""
    with connect(server_url, autocommit=True) as admin:
        name = f"orbit_bench_{admin.info.backend_pid}"
        admin.execute(
            sql.SQL(
                "create database {} template template0 encoding 'UTF8' locale_provider builtin"
                " builtin_locale 'C.UTF-8' lc_collate 'C' lc_ctype 'C'"
            ).format(sql.Identifier(name))
        )
        try:
            url = psycopg.conninfo.make_conninfo(server_url, dbname=name)
            migrate(url)
            yield url
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def run_steps(
    server_url: str,
    pairs: int,
    steps: tuple[Step, ...] = STEPS,
    on_step: Callable[[str], None] = lambda _title: None,
) -> list[StepMeasured]:
    """Load a corpus and measure the steps one after another.

    Args:
        server_url: any database of the server to measure on; fsync and the rest are as that server has them.
        pairs: the size of the corpus, at least 200.
        steps: what to measure.
        on_step: told what comes next.
    """
    corpus = Corpus(pairs)
    measured = []
    with bench_database(server_url) as url, tempfile.TemporaryDirectory(prefix="orbit-bench-") as home:
        with connect(url, autocommit=True) as connection:
            on_step(f"loading {pairs:,} pairs")
            corpus.load(connection)
            make_floor_tables(connection)
            for step in steps:
                on_step(f"{step.name}: {step.title}")
                step.change(connection, corpus)
                measured.append(_measure(connection, url, Path(home), step, pairs))
    return measured


def _measure(connection: psycopg.Connection[Any], url: str, home: Path, step: Step, pairs: int) -> StepMeasured:
    connection.execute("checkpoint")
    before = _wal(connection)
    build = _in_its_own_process(home, url, step.mode)
    wal = _wal(connection) - before
    rows = rows_of_build(connection, build.build_id)
    floor = measure_floor(connection, rows)
    has_rows = any(each.frame.height for each in rows)
    return StepMeasured(
        step=step.name,
        pairs=pairs,
        seconds=build.seconds,
        floor_seconds=floor,
        ratio=build.seconds / floor if has_rows else None,
        added=build.added,
        removed=build.removed,
        embedded=build.embedded,
        wal_bytes=wal,
        peak_mib=build.peak_mib,
        parts=build.steps,
    )


def _in_its_own_process(home: Path, url: str, mode: str) -> Measured:
    command = [sys.executable, "-m", "orbit_pipelines.bench.measuring", str(home), url, mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OrbitError(f"A measured build failed: {done.stderr.strip().splitlines()[-1:] or 'no word'}")
    return Measured(**json.loads(done.stdout))


def _wal(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(row[0]) if row else 0


def as_json(measured: list[StepMeasured]) -> str:
    """Return the measurements as ``orbit bench --json`` prints them."""
    return json.dumps({"steps": [asdict(each) for each in measured]})
