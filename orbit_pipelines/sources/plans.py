"""The plans there are, with what each makes of every source."""

from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.sources.resolution import resolve_plans


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan, the number of accounts on it, and its sources in registry order.

    Accounts without a plan count with the default one.
    """

    plan_key: str
    title: str
    included_sources: int
    is_default: bool
    accounts: int
    sources: tuple[SourceStatus, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as values that JSON can hold."""
        return asdict(self)


def list_plans(connection: psycopg.Connection[Any]) -> tuple[Plan, ...]:
    """Return every plan, the default one first."""
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            "select plan.plan_key, plan.title, plan.included_sources, plan.is_default,"
            " (select count(*) from orbitpilot.account"
            "   where account.plan_key = plan.plan_key or (plan.is_default and account.plan_key is null)) as accounts"
            " from orbitpilot.plan order by not plan.is_default, plan.plan_key"
        ).fetchall()
    statuses = resolve_plans(connection)
    return tuple(Plan(**row, sources=statuses[row["plan_key"]]) for row in rows)
