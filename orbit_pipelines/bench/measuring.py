"""Steps, measured one after another on one database, each beside its floor."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import psycopg

from orbit_pipelines.bench.corpus import Corpus
from orbit_pipelines.bench.floor import make_floor_tables, measure_floor, rows_of_build, settle
from orbit_pipelines.bench.measured_build import MeasuredBuild
from orbit_pipelines.bench.measurements import StepMeasured, Written
from orbit_pipelines.bench.own_process import Ask, answering
from orbit_pipelines.bench.steps import Step
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.statements import statement
from orbit_pipelines.settings import Settings

_BUILDER = "orbit_pipelines.bench.measured_build"

Announce = Callable[[str], None]
"""Told what is done next."""


def measure_steps(
    settings: Settings,
    corpus: Corpus,
    steps: Sequence[Step],
    announce: Announce = lambda _what: None,
    *,
    in_new_processes: bool = False,
) -> list[StepMeasured]:
    """Load a corpus into an empty database and measure the steps.

    Args:
        settings: of an installation of the benchmark's own.
        corpus: the history.
        steps: in their order.
        announce: told what is done next.
        in_new_processes: whether each build has a process and a connection of its own, as each Dagster run has, or all
            have one that stays.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(connect(str(settings.database_url), autocommit=True))
        announce(f"{corpus.pairs:,} pairs: loading")
        corpus.load(connection)
        make_floor_tables(connection)
        stays = None if in_new_processes else stack.enter_context(answering(_BUILDER, settings))
        measured = []
        for step in steps:
            announce(f"{corpus.pairs:,} pairs: {step.name}, {step.title}")
            if step.edit is not None:
                step.edit(connection, corpus)
            with nullcontext(stays) if stays else answering(_BUILDER, settings) as build:
                measured.append(_measure(connection, build, corpus, step))
    return measured


def _measure(connection: psycopg.Connection[Any], build: Ask, corpus: Corpus, step: Step) -> StepMeasured:
    settle(connection)
    wal, rows = _wal_bytes(connection), _rows_written(connection)
    built = MeasuredBuild(**build(step.mode.value))
    wal = _wal_bytes(connection) - wal
    written = _difference(rows, _rows_written(connection))
    floor_rows = rows_of_build(connection, built.build_id)
    floor = measure_floor(connection, floor_rows)
    has_rows = any(each.frame.height for each in floor_rows)
    return StepMeasured(
        step=step.name,
        pairs=corpus.pairs,
        seconds=built.seconds,
        floor_seconds=floor,
        ratio=built.seconds / floor if has_rows else None,
        added=built.added,
        removed=built.removed,
        embedded=built.embedded,
        wal_bytes=wal,
        peak_mib=built.peak_mib,
        parts=built.parts,
        written=written,
    )


def _wal_bytes(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(row[0]) if row else 0


def _rows_written(connection: psycopg.Connection[Any]) -> Written:
    """Return what the server counted so far: complete, because whoever else wrote has reported and so does this one."""
    connection.execute("select pg_stat_force_next_flush()")
    counts = connection.execute(statement("count_written_rows")).fetchall()
    return {
        table: {"inserted": inserted, "updated": updated, "deleted": deleted}
        for table, inserted, updated, deleted in counts
    }


def _difference(before: Written, after: Written) -> Written:
    differences = {
        table: {kind: count - before.get(table, {}).get(kind, 0) for kind, count in counts.items()}
        for table, counts in after.items()
    }
    return {table: counts for table, counts in differences.items() if any(counts.values())}
