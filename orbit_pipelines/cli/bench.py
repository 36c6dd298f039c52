"""`orbit bench`: what builds and imports cost, on a server or database that is there for the benchmark only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orbit_pipelines.cli.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orbit_pipelines.bench.tables import TextTable

app = typer.Typer()
bench = typer.Typer(invoke_without_command=True)
app.add_typer(bench, name="bench", rich_help_panel="Measuring")

DEFAULT_SIZES = (2_000, 20_000)

Page = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Also write the figures into this Markdown page, between its marks."),
]


@bench.callback()
def bench_command(
    context: typer.Context,
    pairs: Annotated[
        list[int] | None,
        typer.Option("--pairs", min=200, metavar="N", help="Size of the history; again for several. [2000, 20000]"),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option("--step", metavar="STEP", help="Only this step, and the first build before it; may be repeated."),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeat", min=1, metavar="N", help="Run everything so often, and show the medians.")
    ] = 1,
    peers: Annotated[
        Path | None,
        typer.Option(
            "--peers", metavar="DIR", help="Also run the indexers of this folder, on the server of BENCH_DSN."
        ),
    ] = None,
    peer_names: Annotated[
        list[str] | None, typer.Option("--peer", metavar="NAME", help="Only this one of them; may be repeated.")
    ] = None,
    page: Page = None,
    as_json: AsJson = False,
) -> None:
    """Measure builds beside the time that copying their rows into PostgreSQL takes, step by step.

    Nothing of it stays. The embedder costs nothing, so that what is measured is the rest.

    Example: orbit bench --pairs 2000 --json
    """
    if context.invoked_subcommand is not None:
        return
    from orbit_pipelines.bench.machine import describe_machine
    from orbit_pipelines.bench.measurements import steps_as_json
    from orbit_pipelines.bench.page import BUILDS, require_writable, write_bench
    from orbit_pipelines.bench.peers import find_peers
    from orbit_pipelines.bench.places import open_place
    from orbit_pipelines.bench.running import BenchPlan, run_bench
    from orbit_pipelines.bench.steps import STEPS, choose_steps
    from orbit_pipelines.bench.tables import bench_tables
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.settings import load_settings

    for step in steps or ():
        if step not in STEPS:
            raise typer.BadParameter(f"There is no step {step!r}. Known: {', '.join(STEPS)}.", param_hint="--step")
    if peer_names and peers is None:
        raise typer.BadParameter("It names one of the folder that --peers names.", param_hint="--peer")
    if page is not None:
        require_writable(page, BUILDS)
    sizes = tuple(dict.fromkeys(pairs or DEFAULT_SIZES))
    plan = BenchPlan(
        sizes=sizes,
        steps=choose_steps(steps or (), compares_sizes=len(sizes) > 1),
        repeats=repeats,
        has_command=not steps and (page is not None or not as_json),
        peers=None if peers is None else find_peers(peers, peer_names or ()),
    )
    # Side by side means on the peers' own server.
    server_url = None if plan.peers is None else plan.peers.server_url
    with _progress() as announce, open_place(load_settings(), server_url) as place:
        machine = describe_machine(place.server_url)
        result = run_bench(place, plan, announce)
    if page is not None:
        write_bench(page, machine, result)
    if as_json:
        print_json(steps_as_json(result.steps))
    else:
        _show(machine.sentence, bench_tables(result))


@bench.command("import")
def import_command(
    messages: Annotated[
        int, typer.Option("--messages", min=40, metavar="N", help="How many messages the export holds, or a few more.")
    ] = 200_000,
    page: Page = None,
    as_json: AsJson = False,
) -> None:
    """Measure the import of a large ChatGPT export, and of the same file again.

    Example: orbit bench import --messages 20000
    """
    from dataclasses import asdict

    from orbit_pipelines.bench.importing import measure_import
    from orbit_pipelines.bench.machine import describe_machine
    from orbit_pipelines.bench.page import IMPORTS, require_writable, write_import
    from orbit_pipelines.bench.places import open_place
    from orbit_pipelines.bench.tables import import_tables
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.settings import load_settings

    if page is not None:
        require_writable(page, IMPORTS)
    with _progress() as announce, open_place(load_settings()) as place:
        machine = describe_machine(place.server_url)
        imported = measure_import(place, messages, announce)
    if page is not None:
        write_import(page, machine, imported)
    if as_json:
        derived = {name: getattr(imported, name) for name in ("messages_per_second", "bytes_per_message")}
        print_json(asdict(imported) | derived)
    else:
        _show(machine.sentence, import_tables(imported))


@contextmanager
def _progress() -> "Iterator[Callable[[str], None]]":
    """Show what is done at the moment, and leave nothing behind when the terminal's owner has enough of it."""
    from orbit_pipelines.bench.own_process import ending_in_order
    from orbit_pipelines.cli.output import step_progress

    with ending_in_order(), step_progress() as progress:
        task = progress.add_task("starting", total=None)
        yield lambda what: progress.update(task, description=what, advance=1)


def _show(sentence: str, tables: "Sequence[TextTable]") -> None:
    from orbit_pipelines.cli.output import show, table

    show(sentence)
    for each in tables:
        listed = table(*each.columns, numbers=each.numbers, whole=each.numbers)
        for row in each.rows:
            listed.add_row(*row)
        show("", f"{each.title}:", "", listed)
