"""Sources by plan as administrators decide them, and what a decision does to people before it is saved.

Resolution is that of builds (``resolve_sources``), once with the settings as saved and once as proposed. People are
counted by what builds found last, so an effect is what their next build does, not what a form says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Reason
from orbit_pipelines.sources.administration import assign_source, set_cap, switch_source, unassign_source
from orbit_pipelines.sources.availability import RegisteredSource, SourceStatus, resolve_sources
from orbit_pipelines.sources.resolution import read_registry


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One plan of the matrix. ``assignments`` holds what the plan says; of the rest the source's default decides."""

    plan_key: str
    title: str
    included_sources: int
    is_default: bool
    assignments: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcesByPlan:
    """The whole matrix: the sources in registry order with their switches, and the plans, the default one first."""

    sources: tuple[RegisteredSource, ...]
    plans: tuple[PlanRow, ...]

    def statuses(self) -> dict[str, tuple[SourceStatus, ...]]:
        """Return what every plan makes of every source."""
        return {
            plan.plan_key: resolve_sources(self.sources, plan.assignments, plan.included_sources) for plan in self.plans
        }

    def changed(self, change: "Change") -> "SourcesByPlan":
        """Return the matrix as it would be; keys that aren't in it change nothing."""
        return SourcesByPlan(
            sources=tuple(
                replace(source, in_rag=change.switches.get(source.source_key, source.in_rag)) for source in self.sources
            ),
            plans=tuple(
                replace(
                    plan,
                    included_sources=change.caps.get(plan.plan_key, plan.included_sources),
                    assignments=_assigned(plan, change),
                )
                for plan in self.plans
            ),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What an administrator proposes; only what differs need be in it.

    ``switches``: source → In-RAG. ``assignments``: (plan, source) → assigned or not, None to let the source's default
    decide. ``caps``: plan → how many sources it includes.
    """

    switches: Mapping[str, bool] = field(default_factory=dict)
    assignments: Mapping[tuple[str, str], bool | None] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PeopleCount:
    """People on a plan for whom the last build found a source so; ``status`` is None where none covered them."""

    plan_key: str
    source_key: str
    status: str | None
    people: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What the next build does to the people of one plan with one source. ``reason`` is why they lose it."""

    plan_key: str
    source_key: str
    losing: int
    gaining: int
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class CrowdedOut:
    """A source that is assigned to a plan and that the plan's cap leaves out all the same."""

    plan_key: str
    source_key: str
    limit: int


def read_sources_by_plan(connection: psycopg.Connection[Any]) -> SourcesByPlan:
    """Return the matrix as it is saved."""
    assignments: dict[str, dict[str, bool]] = {}
    for plan_key, source_key, is_visible in connection.execute(
        "select plan_key, source_key, is_visible from orbitpilot.source_plan_assignment"
    ):
        assignments.setdefault(plan_key, {})[source_key] = is_visible
    plans = connection.execute(
        "select plan_key, title, included_sources, is_default from orbitpilot.plan order by not is_default, plan_key"
    )
    return SourcesByPlan(
        sources=read_registry(connection),
        plans=tuple(
            PlanRow(plan_key, title, cap, is_default, assignments.get(plan_key, {}))
            for plan_key, title, cap, is_default in plans
        ),
    )


def count_people(connection: psycopg.Connection[Any]) -> tuple[PeopleCount, ...]:
    """Return the people by plan, source and the status that builds found last.

    Raises:
        psycopg.errors.InsufficientPrivilege: the acting person is no administrator.
    """
    return tuple(PeopleCount(*row) for row in connection.execute(statement("count_people_by_source")))


def effects_of(matrix: SourcesByPlan, people: tuple[PeopleCount, ...]) -> tuple[Effect, ...]:
    """Return who loses or gains which source at the next build by the matrix, saved or proposed; nothing else is in it.

    Compared with what the builds found last, so that saving changes nothing about it. Whom no build has covered isn't
    counted: there is nothing that they could lose. In the order of plans, then of sources.
    """
    unbuilt = people_without_build(people)
    counted: dict[tuple[str, str], list[PeopleCount]] = {}
    for count in people:
        counted.setdefault((count.plan_key, count.source_key), []).append(count)
    found = []
    for plan_key, statuses in matrix.statuses().items():
        for will in statuses:
            losing = gaining = 0
            for count in counted.get((plan_key, will.source_key), ()):
                # A source that came since the last build has no status either, of people whom that build covered.
                covered = count.people - (unbuilt.get(plan_key, 0) if count.status is None else 0)
                losing += covered if count.status == "included" and not will.is_included else 0
                gaining += covered if count.status != "included" and will.is_included else 0
            if losing or gaining:
                found.append(Effect(plan_key, will.source_key, losing, gaining, will.reason))
    return tuple(found)


def people_without_build(people: tuple[PeopleCount, ...]) -> dict[str, int]:
    """Return how many people of each plan no build has covered: none of the sources has a status for them."""
    unbuilt: dict[str, int] = {}
    sources = {count.source_key for count in people}
    for plan_key in {count.plan_key for count in people}:
        none_yet = {
            count.source_key: count.people for count in people if (count.plan_key, count.status) == (plan_key, None)
        }
        unbuilt[plan_key] = min(none_yet.get(source, 0) for source in sources)
    return unbuilt


def crowded_out(matrix: SourcesByPlan) -> tuple[CrowdedOut, ...]:
    """Return the sources that plans assign and their caps leave out, in the order of plans, then of sources."""
    statuses = matrix.statuses()
    return tuple(
        CrowdedOut(plan.plan_key, status.source_key, plan.included_sources)
        for plan in matrix.plans
        for status in statuses[plan.plan_key]
        if status.reason is Reason.SOURCE_OVER_CAP
    )


def difference(saved: SourcesByPlan, proposed: SourcesByPlan) -> Change:
    """Return what would have to be saved: the smallest change that makes the one into the other."""
    switches = {
        now.source_key: now.in_rag for was, now in zip(saved.sources, proposed.sources, strict=True) if was != now
    }
    assignments: dict[tuple[str, str], bool | None] = {}
    caps = {}
    for was, now in zip(saved.plans, proposed.plans, strict=True):
        if was.included_sources != now.included_sources:
            caps[now.plan_key] = now.included_sources
        for source in proposed.sources:
            assigned = now.assignments.get(source.source_key)
            if assigned != was.assignments.get(source.source_key):
                assignments[now.plan_key, source.source_key] = assigned
    return Change(switches, assignments, caps)


def save_change(connection: psycopg.Connection[Any], change: Change) -> bool:
    """Write a change, and return whether it changed anything. Commits are the caller's.

    Under the application's role the rows are an administrator's to write: for anybody else nothing is changed, or
    PostgreSQL refuses.

    Raises:
        UnknownPlan: no plan has one of the keys.
        UnknownSource: no source has one of the keys.
        UsageError: a cap is negative.
    """
    return any(list(_writes(connection, change)))


def _writes(connection: psycopg.Connection[Any], change: Change) -> Iterator[bool]:
    for source_key, in_rag in change.switches.items():
        yield switch_source(connection, source_key, in_rag=in_rag)
    for plan_key, cap in change.caps.items():
        yield set_cap(connection, plan_key, cap)
    for (plan_key, source_key), is_visible in change.assignments.items():
        if is_visible is None:
            yield unassign_source(connection, plan_key, source_key)
        else:
            yield assign_source(connection, plan_key, source_key, is_visible=is_visible)


def _assigned(plan: PlanRow, change: Change) -> dict[str, bool]:
    proposed = {source: value for (plan_key, source), value in change.assignments.items() if plan_key == plan.plan_key}
    merged: dict[str, bool | None] = {**plan.assignments, **proposed}
    return {source: value for source, value in merged.items() if value is not None}
