"""What the benchmark measures: the records that tables, page, plot and JSON are made of."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from statistics import median_low
from typing import TypeVar

Written = dict[str, dict[str, int]]
"""Table → ``inserted``, ``updated`` and ``deleted`` rows; tables that nothing was written to are absent."""


@dataclass(frozen=True, slots=True)
class StepMeasured:
    """One step beside its floor, as ``--json`` prints it.

    ``ratio`` is None where the floor has no rows to copy. ``parts``: what the build did → its seconds.
    """

    step: str
    pairs: int
    seconds: float
    floor_seconds: float
    ratio: float | None
    added: int
    removed: int
    embedded: int
    wal_bytes: int
    peak_mib: float
    parts: dict[str, float] = field(default_factory=dict)
    written: Written = field(default_factory=dict)

    @property
    def wrote_only_its_build_row(self) -> bool:
        """Whether one row of ``memory.build`` came, and no row of another table came, changed or went."""
        rows = self.written.get("memory.build", {})
        return len(self.written) == 1 and rows.get("inserted") == 1 and not rows.get("deleted")


@dataclass(frozen=True, slots=True)
class PeerMeasured:
    """One step of another indexer over its own copy of such a corpus.

    ``trouble``: what its index had wrong, or why it failed; None where all was right. Nothing else is known of a
    failure.
    """

    peer: str
    step: str
    pairs: int
    seconds: float | None = None
    added: int = 0
    removed: int = 0
    embedded: int = 0
    wal_bytes: int = 0
    peak_mib: float = 0
    trouble: str | None = None


Measured = TypeVar("Measured", StepMeasured, PeerMeasured)


@dataclass(frozen=True, slots=True)
class CommandMeasured:
    """Where the seconds of a whole ``orbit build`` that finds nothing to do go, over ``pairs`` pairs.

    ``imports`` is what starting Python and importing takes, ``build`` the build itself, ``dagster`` the rest of
    Dagster's run around it, with ``events`` events written, ``rest`` connecting, opening Dagster's instance and ending.
    """

    pairs: int
    seconds: float
    imports: float
    dagster: float
    build: float
    events: int

    @property
    def rest(self) -> float:
        """What is left."""
        return self.seconds - self.imports - self.dagster - self.build


@dataclass(frozen=True, slots=True)
class ImportMeasured:
    """An import of one file: the first time, and once more, when it changes nothing. ``baseline_mib``: held before."""

    messages: int
    sessions: int
    file_bytes: int
    seconds: float
    again_seconds: float
    baseline_mib: float
    peak_mib: float

    @property
    def messages_per_second(self) -> float:
        """How fast it was the first time."""
        return self.messages / self.seconds

    @property
    def bytes_per_message(self) -> float:
        """The most memory above the baseline, a message."""
        return (self.peak_mib - self.baseline_mib) * 2**20 / self.messages


@dataclass(frozen=True, slots=True)
class BenchResult:
    """All that one run measured. ``anew``: the steps of one size again, each build in a new process."""

    steps: tuple[StepMeasured, ...]
    peers: tuple[PeerMeasured, ...] = ()
    command: CommandMeasured | None = None
    anew: tuple[StepMeasured, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The corpus sizes, smallest first."""
        return tuple(sorted({each.pairs for each in self.steps}))

    def find(self, step: str, pairs: int) -> StepMeasured | None:
        """Return a step's measurement at a size, None where it wasn't measured."""
        return next((each for each in self.steps if (each.step, each.pairs) == (step, pairs)), None)


def steps_as_json(steps: Iterable[StepMeasured]) -> dict[str, list[dict[str, object]]]:
    """Return the measurements as ``orbit bench --json`` prints them."""
    return {"steps": [asdict(each) for each in steps]}


def medians(measured: Iterable[Measured]) -> list[Measured]:
    """Return one measurement for each step, size and peer: of several that went well, the one with the median time."""
    groups: dict[object, list[Measured]] = {}
    for each in measured:
        peer = each.peer if isinstance(each, PeerMeasured) else None
        groups.setdefault((peer, each.pairs, each.step), []).append(each)
    return [_median(group) for group in groups.values()]


def _median(group: list[Measured]) -> Measured:
    seconds = [each.seconds for each in group if each.seconds is not None]
    return next(each for each in group if not seconds or each.seconds == median_low(seconds))
