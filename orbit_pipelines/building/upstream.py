"""What the application's tables hold, as seen from outside: counts, and a version that changes when they do.

Nothing of this decides what a build does; extraction finds changes by itself, row by row.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import psycopg

from orbit_pipelines.building.scope import Scope, Watermark, read_cluster, read_watermarks
from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.sources.resolution import default_plan, plans_that_differ, resolve_plans


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """One source's rows (or flags that are set), and how many changed since the last build of everyone."""

    source_key: str
    rows: int
    changed: int


@dataclass(frozen=True, slots=True)
class PlanSource:
    """One source in one plan, with the number of accounts it holds for."""

    plan_key: str
    accounts: int
    source_key: str
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class Observation:
    """Some tables at one moment; ``version`` is equal for equal contents and differs after a change."""

    version: str
    sources: tuple[SourceCounts, ...]

    @property
    def rows(self) -> int:
        """Rows, or flags that are set, in all."""
        return sum(source.rows for source in self.sources)

    @property
    def changed(self) -> int:
        """Changes since the last build of everyone."""
        return sum(source.changed for source in self.sources)


@dataclass(frozen=True, slots=True)
class PlanObservation:
    """Plans, assignments and switches at one moment, and which plans resolve otherwise than at the last build."""

    version: str
    sources: tuple[PlanSource, ...]
    changed_plans: tuple[str, ...]


def observe_content(connection: psycopg.Connection[Any]) -> Observation:
    """Count the messages and records that memory is made from."""
    return _observe(connection, "observe_content")


def observe_flags(connection: psycopg.Connection[Any]) -> Observation:
    """Count what its people don't want remembered."""
    return _observe(connection, "observe_flags")


def observe_plans(connection: psycopg.Connection[Any]) -> PlanObservation:
    """Resolve every plan's sources."""
    plans = resolve_plans(connection)
    accounts: dict[str, int] = dict(
        connection.execute(
            "select coalesce(plan_key, %s), count(*) from orbitpilot.account group by 1", [default_plan(connection)]
        ).fetchall()
    )
    sources = tuple(
        PlanSource(plan, accounts.get(plan, 0), status.source_key, status.reason)
        for plan, statuses in plans.items()
        for status in statuses
    )
    mark = _last_build(connection)
    return PlanObservation(
        version=_version([(each.plan_key, each.accounts, each.source_key, each.reason) for each in sources]),
        sources=sources,
        changed_plans=tuple(plans_that_differ(mark.plan_statuses if mark else {}, plans)),
    )


def _observe(connection: psycopg.Connection[Any], name: str) -> Observation:
    mark = _last_build(connection)
    rows = connection.execute(
        statement(name), {"chat_history": CHAT_HISTORY, "snapshot": mark.snapshot if mark else None}
    ).fetchall()
    return Observation(
        version=_version([(source, count, newest) for source, count, newest, _ in rows]),
        sources=tuple(SourceCounts(source, count, changed) for source, count, _, changed in rows),
    )


def _last_build(connection: psycopg.Connection[Any]) -> Watermark | None:
    mark = read_watermarks(connection, Scope()).bucket
    return mark if mark is not None and mark.cluster == read_cluster(connection) else None


def _version(facts: list[tuple[Any, ...]]) -> str:
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]
