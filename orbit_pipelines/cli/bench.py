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


@bench.command("forget")
def forget_command(
    dataset: Annotated[
        Path | None,
        typer.Option(
            "--dataset", metavar="FILE", help="Conversations with questions and evidence, as LoCoMo's. [its own]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The first round's; each round takes the next.")] = 1,
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="How often to choose anew.")] = 3,
    part: Annotated[
        float, typer.Option("--part", min=0.01, max=0.99, metavar="P", help="How much of each person's sessions.")
    ] = 0.25,
    speed: Annotated[bool, typer.Option("--speed", help="Measure the seconds of a forget instead.")] = False,
    chunks: Annotated[
        int, typer.Option("--chunks", min=500, metavar="N", help="With --speed: how large the store is, about.")
    ] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Forget sessions at random, and look what leaks, what comes back by builds, imports and crashes, and what is lost.

    Fails (exit code 1) when anything does. With --speed: how long a forget takes in a large store.

    Example: orbit bench forget --seed 7 --rounds 5
    """
    from orbit_pipelines.bench.conversations import read_conversations
    from orbit_pipelines.bench.forget_tables import forget_tables, speed_table
    from orbit_pipelines.bench.forgetting import measure_forgetting
    from orbit_pipelines.bench.forgetting_speed import measure_speed
    from orbit_pipelines.bench.machine import describe_machine
    from orbit_pipelines.bench.places import open_place
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.settings import load_settings

    samples = read_conversations(dataset)
    with _progress() as announce, open_place(load_settings()) as place:
        machine = describe_machine(place.server_url)
        if speed:
            took = measure_speed(place, chunks, announce=announce)
            told, tables, is_clean = took.as_json(), [speed_table(took)], True
        else:
            measured = measure_forgetting(place, samples, range(seed, seed + rounds), part, announce)
            is_clean = all(each.is_clean for each in measured)
            told = {"is_clean": is_clean, "rounds": [each.as_json() for each in measured]}
            tables = forget_tables(measured)
    if as_json:
        print_json(told)
    else:
        _show(machine.sentence, tables)
    if not is_clean:
        typer.echo("Error: evidence of forgotten sessions was found, or other evidence was lost.", err=True)
        raise typer.Exit(1)


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
