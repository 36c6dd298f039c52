"""The tables that terminal and page show alike: headings and cells, as text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orbit_pipelines.bench.measurements import (
    BenchResult,
    CommandMeasured,
    ImportMeasured,
    PeerMeasured,
    StepMeasured,
)
from orbit_pipelines.bench.steps import GROWTH, STEPS
from orbit_pipelines.bench.targets import Target, judge_bench, judge_import
from orbit_pipelines.bench.wording import bytes_of, ratio_of, seconds_of

_MEASURED = ("seconds", "floor", "ratio", "added", "removed", "embedded", "WAL", "peak")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table with its title. ``texts``: how many columns, from the left, are no numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are aligned to the right."""
        return self.columns[self.texts :]

    def as_markdown(self) -> str:
        """Return it as Markdown."""
        rules = ["---"] * self.texts + ["---:"] * len(self.numbers)
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (self.columns, rules, *self.rows)]
        return f"### {self.title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in cells)


def bench_tables(result: BenchResult) -> list[TextTable]:
    """Return the targets, then what a run measured, size by size, then what belongs to no size."""
    tables = [targets_table(judge_bench(result))]
    for pairs in result.sizes:
        steps = [each for each in result.steps if each.pairs == pairs]
        peers = [each for each in result.peers if each.pairs == pairs]
        tables += [steps_table(pairs, steps, peers), parts_table(pairs, steps)]
    growth = [each for each in result.steps if each.step == GROWTH.name]
    if len(growth) > 1:
        tables.append(growth_table(growth))
    if result.anew:
        tables.append(anew_table(result))
    if result.command is not None:
        tables.append(command_table(result.command))
    return tables


def import_tables(imported: ImportMeasured) -> list[TextTable]:
    """Return the targets of an import, then what was measured of it."""
    return [targets_table(judge_import(imported)), import_table(imported)]


def steps_table(pairs: int, steps: Sequence[StepMeasured], peers: Sequence[PeerMeasured] = ()) -> TextTable:
    """Return the steps of one size, each with the peers' under it, against the same floor."""
    rows = []
    for step in steps:
        rows.append(_step_row(step))
        rows += [_peer_row(peer, step) for peer in peers if peer.step == step.step]
    return TextTable(f"{pairs:,} pairs", ("step", *_MEASURED), tuple(rows))


def parts_table(pairs: int, steps: Sequence[StepMeasured]) -> TextTable:
    """Return where the seconds of each step go."""
    parts = tuple(dict.fromkeys(part for step in steps for part in step.parts))
    rows = tuple(
        (step.step, *(seconds_of(step.parts[part]) if part in step.parts else "–" for part in parts)) for step in steps
    )
    return TextTable(f"{pairs:,} pairs, part by part", ("step", *parts), rows)


def growth_table(steps: Iterable[StepMeasured]) -> TextTable:
    """Return how the same change costs more in a longer history; the smallest is what the others are held against."""
    by_size = sorted(steps, key=lambda step: step.pairs)
    smallest = by_size[0].seconds
    rows = tuple((f"{step.pairs:,}", seconds_of(step.seconds), f"{step.seconds / smallest:.2f} ×") for step in by_size)
    return TextTable(f"Growth: {GROWTH.title} in histories of several sizes", ("pairs", "seconds", "ratio"), rows)


def anew_table(result: BenchResult) -> TextTable:
    """Return what each build takes in a process that stays, and in a new one over a new connection."""
    rows = []
    for step in result.anew:
        stays = result.find(step.step, step.pairs)
        rows.append((step.step, seconds_of(stays.seconds) if stays else "", seconds_of(step.seconds)))
    pairs = result.anew[0].pairs
    return TextTable(
        f"The same builds in new processes, {pairs:,} pairs", ("step", "one process", "a new one"), tuple(rows)
    )


def command_table(command: CommandMeasured) -> TextTable:
    """Return where the seconds of the whole command go."""
    rows = (
        ("starting Python, imports", seconds_of(command.imports)),
        ("connecting, Dagster's instance and plan, ending", seconds_of(command.rest)),
        (f"Dagster's run, {command.events:,} events written", seconds_of(command.dagster)),
        ("the build itself", seconds_of(command.build)),
        ("together", seconds_of(command.seconds)),
    )
    return TextTable(f"orbit build when nothing changed, {command.pairs:,} pairs", ("what", "seconds"), rows)


def import_table(imported: ImportMeasured) -> TextTable:
    """Return what an import took."""
    rows = (
        ("file", bytes_of(imported.file_bytes)),
        ("conversations", f"{imported.sessions:,}"),
        ("the first time", seconds_of(imported.seconds)),
        ("messages a second", f"{imported.messages_per_second:,.0f}"),
        ("the same file again", seconds_of(imported.again_seconds)),
        ("memory before", f"{imported.baseline_mib:,.0f} MiB"),
        ("peak memory", f"{imported.peak_mib:,.0f} MiB"),
        ("above the memory before, a message", f"{imported.bytes_per_message:,.0f} bytes"),
    )
    return TextTable(f"{imported.messages:,} messages of a ChatGPT export", ("what", "measured"), rows)


def targets_table(targets: Iterable[Target]) -> TextTable:
    """Return the targets and whether they are met."""
    rows = tuple((each.title, each.limit, each.measured or "", each.outcome) for each in targets)
    return TextTable("Targets", ("target", "limit", "measured", "outcome"), rows, texts=4)


def _step_row(step: StepMeasured) -> tuple[str, ...]:
    return (
        f"{step.step} {STEPS[step.step].title}",
        seconds_of(step.seconds),
        seconds_of(step.floor_seconds),
        ratio_of(step.ratio),
        *_counts(step),
    )


def _peer_row(peer: PeerMeasured, step: StepMeasured) -> tuple[str, ...]:
    if peer.seconds is None:
        return (f"· {peer.peer}: {peer.trouble}", *[""] * len(_MEASURED))
    name = f"· {peer.peer}" if peer.trouble is None else f"· {peer.peer}, wrong: {peer.trouble}"
    ratio = None if step.ratio is None else peer.seconds / step.floor_seconds
    return (name, seconds_of(peer.seconds), "", ratio_of(ratio), *_counts(peer))


def _counts(step: StepMeasured | PeerMeasured) -> tuple[str, ...]:
    return (
        f"{step.added:,}",
        f"{step.removed:,}",
        f"{step.embedded:,}",
        bytes_of(step.wal_bytes),
        f"{step.peak_mib:,.0f} MiB",
    )
