"""A page whose figures the benchmark writes between two marks; what stands around them is left as it is."""

from collections.abc import Sequence
from pathlib import Path

from orbit_pipelines.bench.machine import Machine
from orbit_pipelines.bench.measurements import BenchResult, ImportMeasured
from orbit_pipelines.bench.plot import plot_steps
from orbit_pipelines.bench.tables import bench_tables, import_tables
from orbit_pipelines.errors import BenchFailed

BUILDS, IMPORTS = "orbit bench", "orbit bench import"
"""Whose figures they are; a page may hold both."""


def require_writable(page: Path, command: str) -> None:
    """Refuse a page that the figures can't be written to, before anything is measured.

    Raises:
        BenchFailed: its folder is missing, or it is there and lacks the marks.
    """
    if not page.parent.is_dir():
        raise BenchFailed(f"There is no folder {page.parent} to write {page.name} to.")
    if page.exists():
        _split(page, command)


def write_bench(page: Path, machine: Machine, result: BenchResult) -> None:
    """Replace a page's figures of builds, and the plot beside it."""
    plot = page.with_suffix(".png")
    plot_steps(result, plot)
    picture = f"![Seconds of each step, beside its floor]({plot.name})"
    _write(page, BUILDS, [machine.sentence, picture, *(table.as_markdown() for table in bench_tables(result))])


def write_import(page: Path, machine: Machine, imported: ImportMeasured) -> None:
    """Replace a page's figures of imports."""
    _write(page, IMPORTS, [machine.sentence, *(table.as_markdown() for table in import_tables(imported))])


def _write(page: Path, command: str, figures: Sequence[str]) -> None:
    """Replace the figures of a page, whole or not at all; a page that is missing is made."""
    before, after = _split(page, command) if page.exists() else ("# Performance\n\n", "")
    begin, end = _marks(command)
    fresh = page.with_name(f".{page.name}.new")
    fresh.write_text(before + "\n\n".join([begin, *figures, end]) + "\n" + after, "utf-8")
    fresh.replace(page)


def _marks(command: str) -> tuple[str, str]:
    return f"<!-- figures of {command}: begin -->", f"<!-- figures of {command}: end -->"


def _split(page: Path, command: str) -> tuple[str, str]:
    """Return what stands before and after a page's figures."""
    begin, end = _marks(command)
    before, has_begin, rest = page.read_text("utf-8").partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise BenchFailed(
            f"{page} has no place for the figures. Put these two lines where they belong:\n{begin}\n{end}"
        )
    return before, after.removeprefix("\n")
