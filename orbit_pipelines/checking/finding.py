"""What a check found: counts and ids, never a message's text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SHOWN = 10
"""How many examples a finding names."""


class Severity(StrEnum):
    """What a finding that didn't pass means: ``error`` stops what comes after a blocking check, ``warn`` tells."""

    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result.

    ``counts`` holds what was looked at, what breaks the property, and what is *pending*: it differs because somebody
    changed something that no build has covered yet, and so breaks nothing. ``examples`` are ids.
    """

    name: str
    passed: bool
    counts: dict[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR


def find(
    name: str,
    *,
    failures: Mapping[str, int],
    seen: Mapping[str, int],
    examples: Iterable[str] = (),
    severity: Severity = Severity.ERROR,
) -> Finding:
    """Return the finding of a check that passes when each of its ``failures`` counts nothing."""
    return Finding(
        name=name,
        passed=not any(failures.values()),
        counts={**seen, **failures},
        examples=tuple(sorted(set(examples)))[:SHOWN],
        severity=severity,
    )


def name_of(*ids: Any) -> str:
    """Return how an example is written: the ids of a key from the outside in, joined by slashes."""
    return "/".join(str(part) for part in ids)
