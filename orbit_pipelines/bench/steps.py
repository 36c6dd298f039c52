"""The steps of a memory's life, in their order: what changes, and how the build that follows is called."""

from collections.abc import Collection
from dataclasses import dataclass

from orbit_pipelines.bench.edits import (
    EXCLUDED_PAIRS,
    GROWTH_PAIRS,
    Edit,
    append_one_percent,
    edit_growth_pairs,
    edit_one_percent,
    exclude_pairs,
    remove_person,
)
from orbit_pipelines.model import Mode


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``edit`` is None where nothing changes."""

    name: str
    title: str
    edit: Edit | None = None
    mode: Mode = Mode.INCREMENTAL


FIRST = Step("W1", "full build", mode=Mode.FULL)
GROWTH = Step("growth", f"{GROWTH_PAIRS} pairs edited", edit_growth_pairs)
STEPS = {
    step.name: step
    for step in (
        FIRST,
        Step("W2", "nothing changed"),
        Step("W3", "1 % of pairs edited", edit_one_percent),
        Step("W4", f"{EXCLUDED_PAIRS} pairs excluded", exclude_pairs),
        Step("W5", "1 % new pairs", append_one_percent),
        Step("W6", "a person gone", remove_person),
        GROWTH,
        Step("W7", "full rebuild", mode=Mode.FULL),
    )
}
"""By name. The others follow a first build, and so ``W1`` always runs."""

USUAL_STEPS = ("W1", "W2", "W3", "W4", "W5", "W6")


def choose_steps(names: Collection[str] = (), *, compares_sizes: bool = False) -> tuple[Step, ...]:
    """Return the steps to run, in their order.

    Args:
        names: of ``STEPS``; without any, the usual ones.
        compares_sizes: whether there are several sizes, over which the growth of a step shows.
    """
    wanted = {*names, FIRST.name} if names else {*USUAL_STEPS, *([GROWTH.name] if compares_sizes else [])}
    return tuple(step for name, step in STEPS.items() if name in wanted)
