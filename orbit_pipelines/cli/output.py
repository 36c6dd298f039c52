"""How commands write: JSON or tables on standard output, progress and remarks on standard error.

Progress shows on a terminal only. Tables fit 80 columns; in a pipe they are as wide as they need to be.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

COMMAND = "orbit"
WIDTH_IN_PIPES = 1_000


def print_json(value: Any) -> None:
    """Print a value as the only thing on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def show(*renderables: RenderableType) -> None:
    """Print tables and sentences for a person. Brackets in them are text, not markup."""
    is_fixed = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(markup=False, highlight=False, emoji=False, width=None if is_fixed else WIDTH_IN_PIPES)
    for renderable in renderables:
        console.print(renderable, soft_wrap=isinstance(renderable, str))


def remark(text: str) -> None:
    """Say something beside the answer, on standard error."""
    typer.echo(text, err=True)


def table(*columns: str, numbers: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """Return an empty table.

    Args:
        columns: their headings.
        numbers: the columns that are aligned to the right.
        whole: the columns whose values are for copying, and so are not broken into lines while others can be.
    """
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in numbers else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=column in whole)
    return made


def printable(text: str) -> str:
    """Return text in one line, without what could steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))


def shortened(text: str | None, length: int = 60) -> str:
    """Return the beginning of a text, printable, in one line."""
    line = printable((text or "")[: 4 * length])
    return line if len(line) <= length else f"{line[: length - 1]}…"


def byte_progress() -> Progress:
    """Return a progress display that counts bytes."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
        console=_error_console(),
        disable=not sys.stderr.isatty(),
    )


def step_progress() -> Progress:
    """Return a progress display for steps that count what they have done, without knowing how much there is."""
    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:<12}", markup=False),
        TextColumn("{task.completed:>10,.0f}"),
        TimeElapsedColumn(),
        console=_error_console(),
        disable=not sys.stderr.isatty(),
    )


def _error_console() -> Console:
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def command_name() -> str:
    """Return how a person types this command: its name where it is on their PATH, else the path to it."""
    program = Path(sys.argv[0])
    found = shutil.which(COMMAND)
    if program.name != COMMAND or (found is not None and os.path.samefile(found, program)):
        return COMMAND
    relative = os.path.relpath(program)
    if relative.startswith(os.pardir):
        return str(program.absolute())
    return relative if os.sep in relative else f"{os.curdir}{os.sep}{relative}"
