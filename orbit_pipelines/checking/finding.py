"""What a check found: counts and ids, never a message's text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    """One check's result; it passed when each of its ``failures`` counts nothing.

    ``seen`` counts what was looked at, and what is *pending*: it differs because somebody changed something that no
    build has covered yet, and so breaks nothing. ``failures`` counts what breaks the property, by kind; ``examples``
    are the ids of some of it.
    """

    name: str
    seen: dict[str, int]
    failures: dict[str, int]
    examples: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR

    @property
    def passed(self) -> bool:
        """Whether the property holds."""
        return not any(self.failures.values())

    @property
    def counts(self) -> dict[str, int]:
        """All counts by name."""
        return {**self.seen, **self.failures}

    @property
    def summary(self) -> str:
        """The finding in a line."""
        seen, broken = _list(self.seen, " "), _list(self.failures, " × ")
        verdict = f"Broken: {broken}." if broken else "Holds."
        return f"{verdict} Seen: {seen}." if seen else verdict


def _list(counts: Mapping[str, int], joint: str) -> str:
    return ", ".join(f"{count:,}{joint}{name.replace('_', ' ')}" for name, count in counts.items() if count)


def find(
    name: str,
    *,
    seen: dict[str, int],
    failures: dict[str, int],
    examples: Iterable[str] = (),
    severity: Severity = Severity.ERROR,
) -> Finding:
    """Return a finding that names only some of the examples, each once."""
    return Finding(name, seen, failures, tuple(sorted(set(examples))[:SHOWN]), severity)


def name_of(*ids: Any) -> str:
    """Return how an example is written: the ids of a key from the outside in, joined by slashes."""
    return "/".join(str(part) for part in ids)
