"""Which sources feed a person's memory: pure rules, the same for builds, pages and the command line.

``source_availability`` is what a page may ask cheaply; ``resolve_sources`` adds the plan's cap, which needs the whole
registry in order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orbit_pipelines.model import Reason


@dataclass(frozen=True, slots=True)
class RegisteredSource:
    """A source as the registry and the administrator's In-RAG switch have it."""

    source_key: str
    title: str
    position: int
    default_visible: bool
    in_rag: bool


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What one source is for one plan; ``reason`` is None exactly when it is included."""

    source_key: str
    reason: Reason | None

    @property
    def is_included(self) -> bool:
        """Whether records of this source enter memory."""
        return self.reason is None


def source_availability(*, in_rag: bool, assignment: bool | None, default_visible: bool) -> Reason | None:
    """Return why a source is not available to a plan, or None when it is.

    Args:
        in_rag: the administrator's switch of the source.
        assignment: the plan's row for the source; None when there is no row, so that ``default_visible`` decides.
        default_visible: what the registry says in that case.
    """
    if not in_rag:
        return Reason.SOURCE_SWITCHED_OFF
    is_visible = default_visible if assignment is None else assignment
    return None if is_visible else Reason.SOURCE_NOT_ASSIGNED


def resolve_sources(
    registry: Iterable[RegisteredSource], assignments: Mapping[str, bool], included_sources: int
) -> tuple[SourceStatus, ...]:
    """Return every registered source with its one status, in registry order.

    Available sources are included until the cap ``included_sources`` is filled; the later ones are
    ``source_over_cap``. A source that is switched off or not assigned uses up nothing of the cap.
    """
    statuses = []
    included = 0
    for source in sorted(registry, key=lambda each: each.position):
        reason = source_availability(
            in_rag=source.in_rag,
            assignment=assignments.get(source.source_key),
            default_visible=source.default_visible,
        )
        if reason is None:
            if included >= included_sources:
                reason = Reason.SOURCE_OVER_CAP
            else:
                included += 1
        statuses.append(SourceStatus(source.source_key, reason))
    return tuple(statuses)
