"""What a build and an import may cost at most, and whether they do."""

from dataclasses import dataclass

from orbit_pipelines.bench.measurements import BenchResult, ImportMeasured
from orbit_pipelines.bench.running import TARGET_PAIRS
from orbit_pipelines.bench.steps import GROWTH, STEPS
from orbit_pipelines.bench.wording import seconds_of

GROWTH_SIZES = (2_000, 200_000)
GROWTH_RATIO = 1.5
MEMORY_SIZES = (200_000, 400_000)
MEMORY_MIB = 600
COMMAND_SECONDS = 5
IMPORTED_MESSAGES = 200_000
IMPORTED_PER_SECOND = 10_000
IMPORT_BYTES_PER_MESSAGE = 1_024


@dataclass(frozen=True, slots=True)
class Target:
    """One target. ``measured`` and ``is_met`` are None where the run doesn't tell."""

    title: str
    limit: str
    measured: str | None = None
    is_met: bool | None = None

    @property
    def outcome(self) -> str:
        """In a word."""
        return {None: "not measured", True: "met", False: "missed"}[self.is_met]


@dataclass(frozen=True, slots=True)
class _Limit:
    """The most a step may take: so many times its floor, and so many seconds."""

    step: str
    floors: int = 0
    seconds: float = 0

    @property
    def wording(self) -> str:
        floors = f"{self.floors} × the floor" if self.floors else ""
        return " + ".join(each for each in (floors, seconds_of(self.seconds) if self.seconds else "") if each)


_LIMITS = (
    _Limit("W1", floors=3),
    _Limit("W2", seconds=0.03),
    _Limit("W3", floors=3, seconds=0.1),
    _Limit("W4", seconds=0.1),
    _Limit("W5", floors=3, seconds=0.1),
    _Limit("W6", seconds=0.15),
)


def judge_bench(result: BenchResult) -> list[Target]:
    """Hold a run's measurements against the targets; those about sizes that it didn't have stay open."""
    return [
        *(_judge_step(result, limit) for limit in _LIMITS),
        _judge_writes(result),
        _judge_growth(result),
        *(_judge_memory(result, pairs) for pairs in MEMORY_SIZES),
        _judge_command(result),
    ]


def judge_import(imported: ImportMeasured) -> list[Target]:
    """Hold an import against its targets; an import of another size isn't judged."""
    is_judged = imported.messages == IMPORTED_MESSAGES
    speed, memory = imported.messages_per_second, imported.bytes_per_message
    return [
        Target(
            f"{IMPORTED_MESSAGES:,} messages imported",
            f"at least {IMPORTED_PER_SECOND:,} a second",
            f"{speed:,.0f} a second" if is_judged else None,
            speed >= IMPORTED_PER_SECOND if is_judged else None,
        ),
        Target(
            "their peak memory",
            f"{IMPORT_BYTES_PER_MESSAGE:,} bytes a message",
            f"{memory:,.0f} bytes a message" if is_judged else None,
            memory <= IMPORT_BYTES_PER_MESSAGE if is_judged else None,
        ),
    ]


def _judge_step(result: BenchResult, limit: _Limit) -> Target:
    title = f"{limit.step} {STEPS[limit.step].title}, {TARGET_PAIRS:,} pairs"
    step = result.find(limit.step, TARGET_PAIRS)
    if step is None:
        return Target(title, limit.wording)
    most = limit.floors * step.floor_seconds + limit.seconds
    allowed = f" of {seconds_of(most)}" if limit.floors else ""
    return Target(title, limit.wording, f"{seconds_of(step.seconds)}{allowed}", step.seconds <= most)


def _judge_writes(result: BenchResult) -> Target:
    title = "W2 writes"
    limit = "one build row"
    steps = [each for each in result.steps if each.step == "W2"]
    if not steps:
        return Target(title, limit)
    excessive = [each for each in steps if not each.wrote_only_its_build_row]
    tables = sorted({table for each in excessive for table in each.written})
    return Target(title, limit, f"rows of {', '.join(tables) or 'nothing'}" if excessive else limit, not excessive)


def _judge_growth(result: BenchResult) -> Target:
    small, large = GROWTH_SIZES
    title = f"{GROWTH.title}, {large:,} against {small:,} pairs"
    limit = f"{GROWTH_RATIO} ×"
    at_small, at_large = (result.find(GROWTH.name, pairs) for pairs in GROWTH_SIZES)
    if at_small is None or at_large is None:
        return Target(title, limit)
    ratio = at_large.seconds / at_small.seconds
    return Target(title, limit, f"{ratio:.2f} ×", ratio <= GROWTH_RATIO)


def _judge_memory(result: BenchResult, pairs: int) -> Target:
    title = f"peak memory of a full build, {pairs:,} pairs"
    limit = f"{MEMORY_MIB} MiB"
    step = result.find("W1", pairs)
    if step is None:
        return Target(title, limit)
    return Target(title, limit, f"{step.peak_mib:,.0f} MiB", step.peak_mib <= MEMORY_MIB)


def _judge_command(result: BenchResult) -> Target:
    title = "orbit build, nothing changed, whole command"
    limit = f"{COMMAND_SECONDS} s"
    if result.command is None:
        return Target(title, limit)
    return Target(title, limit, seconds_of(result.command.seconds), result.command.seconds <= COMMAND_SECONDS)
