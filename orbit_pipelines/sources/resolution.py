"""One truth about sources, read from the database: for one person, or for every plan at once."""

from typing import Any

import psycopg

from orbit_pipelines.errors import BuildFailed, UnknownAccount
from orbit_pipelines.model import Reason
from orbit_pipelines.sources.availability import RegisteredSource, SourceStatus, resolve_sources

PlanStatuses = dict[str, tuple[SourceStatus, ...]]
"""Plan key → its sources in registry order."""


NO_PLAN = ""
"""Stands for the plan of an account that has none; no plan has this key."""


def read_registry(connection: psycopg.Connection[Any]) -> tuple[RegisteredSource, ...]:
    """Return the registered sources, in registry order."""
    rows = connection.execute(
        "select source_key, title, position, default_visible, in_rag from orbitpilot.memory_source order by position"
    )
    return tuple(RegisteredSource(*row) for row in rows)


def default_plan(connection: psycopg.Connection[Any]) -> str:
    """Return the plan of an account that has none."""
    row = connection.execute("select plan_key from orbitpilot.plan where is_default").fetchone()
    if row is None:
        raise BuildFailed(
            "No plan is the default plan, so accounts without a plan have no sources. "
            "Mark one: update orbitpilot.plan set is_default = true where plan_key = …"
        )
    return str(row[0])


def resolve_plans(connection: psycopg.Connection[Any]) -> PlanStatuses:
    """Return the sources of every plan; three queries, however many people there are."""
    registry = read_registry(connection)
    assignments: dict[str, dict[str, bool]] = {}
    for plan_key, source_key, is_visible in connection.execute(
        "select plan_key, source_key, is_visible from orbitpilot.source_plan_assignment"
    ):
        assignments.setdefault(plan_key, {})[source_key] = is_visible
    plans = connection.execute("select plan_key, included_sources from orbitpilot.plan order by plan_key")
    return {
        plan_key: resolve_sources(registry, assignments.get(plan_key, {}), included_sources)
        for plan_key, included_sources in plans
    }


def resolve_all_accounts(connection: psycopg.Connection[Any]) -> PlanStatuses:
    """Return the sources of every plan, and under ``NO_PLAN`` those of the accounts that have none of their own.

    What a build compares with its watermark: another plan may be the default one since.
    """
    plans = resolve_plans(connection)
    row = connection.execute("select plan_key from orbitpilot.plan where is_default").fetchone()
    return plans if row is None else plans | {NO_PLAN: plans[row[0]]}


def resolve_build_sources(connection: psycopg.Connection[Any], user_id: str) -> tuple[SourceStatus, ...]:
    """Return every registered source with its status for one person, in registry order.

    Builds, Memory Status, the ask-time note and the command line all say what this says.

    Raises:
        UnknownAccount: no such account.
    """
    row = connection.execute("select plan_key from orbitpilot.account where user_id = %s", [user_id]).fetchone()
    if row is None:
        raise UnknownAccount(f"No account '{user_id}'. Make one: orbit account add {user_id}")
    return resolve_plans(connection)[row[0] or default_plan(connection)]


def statuses_to_json(statuses: PlanStatuses) -> dict[str, dict[str, str | None]]:
    """Return plan → source → reason (null when included), as the watermark keeps it."""
    return {plan: {status.source_key: status.reason for status in each} for plan, each in statuses.items()}


def plans_that_differ(before: dict[str, dict[str, str | None]], now: PlanStatuses) -> list[str]:
    """Return the plans whose sources are not what they were; a plan that is new differs."""
    return [plan for plan, statuses in statuses_to_json(now).items() if before.get(plan) != statuses]


def reason_of(statuses: tuple[SourceStatus, ...], source_key: str) -> Reason | None:
    """Return why one source is not included; a source that isn't registered is not assigned."""
    for status in statuses:
        if status.source_key == source_key:
            return status.reason
    return Reason.SOURCE_NOT_ASSIGNED
