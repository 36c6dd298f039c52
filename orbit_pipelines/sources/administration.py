"""What an administrator decides: plans and their caps, which plan includes which source, and each source's switch.

Every function returns whether it changed anything; the next build follows. Commits are the caller's.
"""

from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownPlan, UnknownSource, UsageError

DEFAULT_CAP = 3
"""How many sources a plan includes that was made without saying so."""


def create_plan(
    conn: psycopg.Connection[Any], plan_key: str, *, title: str | None = None, included_sources: int = DEFAULT_CAP
) -> bool:
    """Make a plan, and return whether it is new; one that exists stays as it is.

    Args:
        conn: where plans are kept.
        plan_key: its key, any text.
        title: what people read; the key if None.
        included_sources: the plan's cap.

    Raises:
        UsageError: the cap is negative.
    """
    _require_cap(included_sources)
    created = conn.execute(
        "insert into orbitpilot.plan (plan_key, title, included_sources) values (%s, %s, %s) on conflict do nothing",
        (plan_key, plan_key if title is None else title, included_sources),
    )
    return created.rowcount > 0


def set_cap(conn: psycopg.Connection[Any], plan_key: str, included_sources: int) -> bool:
    """Set how many sources a plan includes.

    Raises:
        UnknownPlan: no plan has that key.
        UsageError: the cap is negative.
    """
    _require_cap(included_sources)
    require_plan(conn, plan_key)
    changed = conn.execute(
        "update orbitpilot.plan set included_sources = %(cap)s"
        " where plan_key = %(plan_key)s and included_sources <> %(cap)s",
        {"plan_key": plan_key, "cap": included_sources},
    )
    return changed.rowcount > 0


def assign_source(conn: psycopg.Connection[Any], plan_key: str, source_key: str, *, is_visible: bool) -> bool:
    """Say that a plan includes a source, or that it doesn't.

    Raises:
        UnknownPlan: no plan has that key.
        UnknownSource: no source has that key.
    """
    require_plan(conn, plan_key)
    require_source(conn, source_key)
    changed = conn.execute(
        statement("upsert_assignment"),
        {"plan_key": plan_key, "source_key": source_key, "is_visible": is_visible},
    )
    return changed.rowcount > 0


def unassign_source(conn: psycopg.Connection[Any], plan_key: str, source_key: str) -> bool:
    """Take back what a plan says of a source, so that the source's own default decides.

    Raises:
        UnknownPlan: no plan has that key.
        UnknownSource: no source has that key.
    """
    require_plan(conn, plan_key)
    require_source(conn, source_key)
    removed = conn.execute(
        "delete from orbitpilot.source_plan_assignment where (plan_key, source_key) = (%s, %s)", (plan_key, source_key)
    )
    return removed.rowcount > 0


def switch_source(conn: psycopg.Connection[Any], source_key: str, *, in_rag: bool) -> bool:
    """Turn the In-RAG switch of a source on or off, for everybody.

    Raises:
        UnknownSource: no source has that key.
    """
    require_source(conn, source_key)
    changed = conn.execute(
        "update orbitpilot.memory_source set in_rag = %(in_rag)s"
        " where source_key = %(source_key)s and in_rag <> %(in_rag)s",
        {"source_key": source_key, "in_rag": in_rag},
    )
    return changed.rowcount > 0


def require_plan(conn: psycopg.Connection[Any], plan_key: str) -> None:
    """Make sure that a plan exists.

    Raises:
        UnknownPlan: it doesn't; the message lists those that do.
    """
    plans = [key for (key,) in conn.execute("select plan_key from orbitpilot.plan order by plan_key")]
    if plan_key not in plans:
        raise UnknownPlan(
            f"There is no plan {plan_key!r}. There are: {', '.join(plans)}. `orbit plan add {plan_key}` makes one."
        )


def require_source(conn: psycopg.Connection[Any], source_key: str) -> None:
    """Make sure that a source is registered.

    Raises:
        UnknownSource: it isn't; the message lists those that are.
    """
    sources = [key for (key,) in conn.execute("select source_key from orbitpilot.memory_source order by position")]
    if source_key not in sources:
        raise UnknownSource(f"There is no source {source_key!r}. Registered are: {', '.join(sources)}.")


def _require_cap(included_sources: int) -> None:
    if included_sources < 0:
        raise UsageError(f"A plan can't include {included_sources} sources: give a number from 0 on.")
