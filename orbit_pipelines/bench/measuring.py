"""Steps, measured one after another on one database, each beside its floor."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from orbit_pipelines.bench.corpus import Corpus
from orbit_pipelines.bench.floor import make_floor_tables, measure_floor, rows_of_build, settle
from orbit_pipelines.bench.measured_build import MeasuredBuild
from orbit_pipelines.bench.measurements import StepMeasured, Written
from orbit_pipelines.bench.own_process import run_module
from orbit_pipelines.bench.steps import Step
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.statements import statement
from orbit_pipelines.settings import Settings

Announce = Callable[[str], None]
"""Told what is done next."""

SECONDS_TO_DISCONNECT = 10


def measure_steps(
    settings: Settings, corpus: Corpus, steps: Sequence[Step], announce: Announce = lambda _what: None
) -> list[StepMeasured]:
    """Load a corpus into an empty database and measure the steps."""
    with connect(str(settings.database_url), autocommit=True) as connection:
        announce(f"{corpus.pairs:,} pairs: loading")
        corpus.load(connection)
        make_floor_tables(connection)
        measured = []
        for step in steps:
            announce(f"{corpus.pairs:,} pairs: {step.name}, {step.title}")
            if step.edit is not None:
                step.edit(connection, corpus)
            measured.append(_measure(connection, settings, corpus, step))
    return measured


def _measure(connection: psycopg.Connection[Any], settings: Settings, corpus: Corpus, step: Step) -> StepMeasured:
    settle(connection)
    wal, rows = _wal_bytes(connection), _rows_written(connection)
    build = MeasuredBuild(**run_module("orbit_pipelines.bench.measured_build", settings, step.mode.value))
    wal = _wal_bytes(connection) - wal
    written = _difference(rows, _rows_written(connection))
    floor_rows = rows_of_build(connection, build.build_id)
    floor = measure_floor(connection, floor_rows)
    has_rows = any(each.frame.height for each in floor_rows)
    return StepMeasured(
        step=step.name,
        pairs=corpus.pairs,
        seconds=build.seconds,
        floor_seconds=floor,
        ratio=build.seconds / floor if has_rows else None,
        added=build.added,
        removed=build.removed,
        embedded=build.embedded,
        wal_bytes=wal,
        peak_mib=build.peak_mib,
        parts=build.parts,
        written=written,
    )


def _wal_bytes(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(row[0]) if row else 0


def _rows_written(connection: psycopg.Connection[Any]) -> Written:
    """Return what the server counted so far: complete, because whoever else wrote is gone and this one reports."""
    connection.execute("select pg_stat_force_next_flush()")
    _wait_until_alone(connection)
    counts = connection.execute(statement("count_written_rows")).fetchall()
    return {
        table: {"inserted": inserted, "updated": updated, "deleted": deleted}
        for table, inserted, updated, deleted in counts
    }


def _wait_until_alone(connection: psycopg.Connection[Any]) -> None:
    """Wait for the server to notice that the measured process is gone: a session reports its counts at its end."""
    others = (
        "select from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
    deadline = time.monotonic() + SECONDS_TO_DISCONNECT
    while connection.execute(others).rowcount and time.monotonic() < deadline:
        time.sleep(0.01)


def _difference(before: Written, after: Written) -> Written:
    differences = {
        table: {kind: count - before.get(table, {}).get(kind, 0) for kind, count in counts.items()}
        for table, counts in after.items()
    }
    return {table: counts for table, counts in differences.items() if any(counts.values())}
