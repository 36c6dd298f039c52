"""What is about to be embedded and published may be."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
import psycopg

from assets.chunking import chunking
from checks.results import result_of
from orbit_pipelines.checking import staged
from orbit_pipelines.checking.build_of_run import find_build
from orbit_pipelines.checking.staged_parts import StagedPart, make_parts, read_parts
from orbit_pipelines.settings import load_settings
from resources.database import MemoryDatabase


@dg.asset_check(asset=chunking, blocking=True)
def no_excluded_pair_is_staged(context: dg.AssetCheckExecutionContext, database: MemoryDatabase) -> dg.AssetCheckResult:
    """No staged chunk comes from an excluded message, from a reply to one, or from an excluded record.

    Worked out from the extracted flags themselves. If it fails, nothing is embedded and memory stays as it was: please
    report it, it is a defect.
    """
    with database.connect() as connection, _staged(connection, context.run.run_id) as parts:
        return result_of(staged.no_excluded_pair_is_staged(parts))


@dg.asset_check(asset=chunking, blocking=True)
def source_ids_stay_stable(context: dg.AssetCheckExecutionContext, database: MemoryDatabase) -> dg.AssetCheckResult:
    """Every staged pair has the number the ledger gave its message, and memory knows that message by no other.

    A number that moved would let one pair's exclusion take another out of memory. If it fails, nothing is embedded and
    memory stays as it was; compare `memory.pair` with the pairs named.
    """
    with database.connect() as connection, _staged(connection, context.run.run_id) as parts:
        return result_of(staged.source_ids_stay_stable(connection, parts))


@contextmanager
def _staged(connection: psycopg.Connection[Any], run_id: str) -> Iterator[Iterator[StagedPart]]:
    """Offer what this run staged; where it stages nothing, what a full build would stage now."""
    build = find_build(connection, run_id)
    if build is not None:
        yield read_parts(build.workspace)
        return
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read")
        yield make_parts(connection, load_settings())
