"""Sources by plan for administrators: the matrix, what a change of it does to people, and then its saving.

Three steps without a script: the form, the same form with its effect shown, and saved. A form that was made from other
settings than those saved now is refused.
"""

import json
from dataclasses import asdict
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, status
from starlette.datastructures import FormData
from starlette.responses import Response

from orbit_pipelines.telling.plan_effects import (
    Change,
    PeopleCount,
    SourcesByPlan,
    count_people,
    crowded_out,
    difference,
    effects_of,
    people_without_build,
    read_sources_by_plan,
    save_change,
)
from orbit_pipelines.web.rendering import redirect, render
from orbit_pipelines.web.urls import ADMIN
from orbit_pipelines.web.visits import Administrator, Visit

router = APIRouter()

ASSIGNMENTS = {"yes": True, "no": False, "default": None}
"""What a form says of a source on a plan."""

MOST_SOURCES = 1_000_000
"""The highest cap that a form takes."""


async def _form(request: Request) -> FormData:
    return await request.form()


Form = Annotated[FormData, Depends(_form)]


@router.get(ADMIN)
def sources_by_plan(visit: Administrator, saved: bool = False) -> Response:
    """Show the matrix as it is saved."""
    matrix = read_sources_by_plan(visit.connection)
    return _page(visit, matrix, matrix, is_preview=False, was_saved=saved)


@router.post(f"{ADMIN}preview/")
def preview(visit: Administrator, form: Form) -> Response:
    """Show the matrix as the form proposes it, with what it would do."""
    matrix = _as_shown(visit, form)
    return _page(visit, matrix, matrix.changed(_proposed(matrix, form)), is_preview=True)


@router.post(ADMIN)
def save(visit: Administrator, form: Form) -> Response:
    """Save what the form proposes."""
    matrix = _as_shown(visit, form)
    save_change(visit.connection, difference(matrix, matrix.changed(_proposed(matrix, form))))
    return redirect(f"{ADMIN}?saved=true")


def _page(
    visit: Visit, saved: SourcesByPlan, proposed: SourcesByPlan, *, is_preview: bool, was_saved: bool = False
) -> Response:
    people = count_people(visit.connection)
    return render(
        visit,
        "sources_by_plan.html",
        matrix=proposed,
        statuses=proposed.statuses(),
        titles={plan.plan_key: plan.title for plan in proposed.plans},
        sources={source.source_key: visit.wording.source(source.source_key, source.title) for source in saved.sources},
        people=_people_by_plan(people),
        warnings=crowded_out(proposed),
        effects=effects_of(proposed, people),
        unbuilt=sum(people_without_build(people).values()),
        is_preview=is_preview,
        is_changed=saved != proposed,
        was_saved=was_saved,
        seen=_digest(saved),
        most_sources=MOST_SOURCES,
    )


def _as_shown(visit: Visit, form: FormData) -> SourcesByPlan:
    """Return the saved matrix, if it still is the one that the form was made from.

    Raises:
        HTTPException: 409, somebody changed it meanwhile.
    """
    matrix = read_sources_by_plan(visit.connection)
    if form.get("seen") != _digest(matrix):
        raise HTTPException(status.HTTP_409_CONFLICT)
    return matrix


def _proposed(matrix: SourcesByPlan, form: FormData) -> Change:
    """Return what a form says of every switch, assignment and cap; numbers stand for plans and sources in it.

    Raises:
        HTTPException: 400, something is missing or is no value of its field.
    """
    try:
        return Change(
            switches={source.source_key: f"switch-{n}" in form for n, source in enumerate(matrix.sources)},
            assignments={
                (plan.plan_key, source.source_key): ASSIGNMENTS[str(form[f"assignment-{m}-{n}"])]
                for m, plan in enumerate(matrix.plans)
                for n, source in enumerate(matrix.sources)
            },
            caps={plan.plan_key: _cap(str(form[f"cap-{m}"])) for m, plan in enumerate(matrix.plans)},
        )
    except (KeyError, ValueError):
        raise HTTPException(status.HTTP_400_BAD_REQUEST) from None


def _cap(given: str) -> int:
    cap = int(given)
    if not 0 <= cap <= MOST_SOURCES:
        raise ValueError(given)
    return cap


def _people_by_plan(people: tuple[PeopleCount, ...]) -> dict[str, int]:
    """Return how many people each plan has; every source counts all of them."""
    by_plan: dict[str, dict[str, int]] = {}
    for count in people:
        of_source = by_plan.setdefault(count.plan_key, {})
        of_source[count.source_key] = of_source.get(count.source_key, 0) + count.people
    return {plan_key: max(of_source.values()) for plan_key, of_source in by_plan.items()}


def _digest(matrix: SourcesByPlan) -> str:
    return sha256(json.dumps(asdict(matrix), sort_keys=True).encode()).hexdigest()
