"""Which sources feed memory: `orbit plan`, `orbit assign`, `orbit switch`, `orbit sources`."""

from typing import Annotated

import typer

from orbit_pipelines.cli.options import MOST_SOURCES, AsJson, Plan, Source, User, parse_id
from orbit_pipelines.errors import UsageError

app = typer.Typer()
plan = typer.Typer(no_args_is_help=True, help="Make and list plans, and set how many sources each includes.")

PANEL = "Administration"
app.add_typer(plan, name="plan", rich_help_panel=PANEL)

FOLLOWS = "Memory follows at the next build: orbit build"


@plan.command("add")
def add(
    key: Plan,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", parser=parse_id, help="What people read; the key unless said.")
    ] = None,
    cap: Annotated[int, typer.Option(min=0, max=MOST_SOURCES, metavar="N", help="How many sources it includes.")] = 3,
) -> None:
    """Make a plan; one that exists stays as it is.

    Example: orbit plan add family --title "Family" --cap 4
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.administration import create_plan

    with open_database(load_settings()) as connection:
        is_new = create_plan(connection, key, title=title, included_sources=cap)
    typer.echo(f"Made the plan {key}." if is_new else f"There is a plan {key} already; it stays as it is.")


@plan.command("cap")
def cap_command(
    key: Plan,
    cap: Annotated[int, typer.Argument(min=0, max=MOST_SOURCES, metavar="N", help="How many sources.")],
) -> None:
    """Set how many sources a plan includes, counted in the registry's order.

    Example: orbit plan cap essential 4
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.administration import set_cap

    with open_database(load_settings()) as connection:
        is_changed = set_cap(connection, key, cap)
    typer.echo(f"{key} includes {cap} sources now. {FOLLOWS}" if is_changed else f"It was {cap} already.")


@plan.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the plans: cap, people, and what each source is for them.

    Example: orbit plan list
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show, table
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.plans import list_plans

    with open_database(load_settings()) as connection:
        plans = list_plans(connection)
    if as_json:
        print_json([each.as_json() for each in plans])
        return
    listed = table("plan", "title", "cap", "people", "sources included", "left out", numbers=["cap", "people"])
    for each in plans:
        included = [status.source_key for status in each.sources if status.is_included]
        left_out = [f"{status.source_key}: {status.reason}" for status in each.sources if not status.is_included]
        listed.add_row(
            f"{each.plan_key} (default)" if each.is_default else each.plan_key,
            each.title,
            str(each.included_sources),
            f"{each.accounts:,}",
            "\n".join(included),
            "\n".join(left_out),
        )
    show(listed)


@app.command("assign", rich_help_panel=PANEL)
def assign_command(
    key: Plan,
    source: Source,
    visible: Annotated[bool, typer.Option("--visible", help="The plan has the source.")] = False,
    not_visible: Annotated[bool, typer.Option("--not-visible", help="The plan doesn't have it.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Say nothing; the source's own default decides.")] = False,
) -> None:
    """Say whether a plan has a source, or leave that to the source's own default.

    Example: orbit assign discreet orbitpilot.chat_history --not-visible
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.administration import assign_source, unassign_source

    if visible + not_visible + clear != 1:
        raise UsageError("Say --visible, --not-visible or --clear: exactly one of them.")
    with open_database(load_settings()) as connection:
        if clear:
            is_changed = unassign_source(connection, key, source)
        else:
            is_changed = assign_source(connection, key, source, is_visible=visible)
    typer.echo(f"Plan {key} changed. {FOLLOWS}" if is_changed else "It was so already; nothing changed.")


@app.command("switch", rich_help_panel=PANEL)
def switch_command(
    source: Source,
    on: Annotated[bool, typer.Option("--on", help="It feeds memory, where plans have it.")] = False,
    off: Annotated[bool, typer.Option("--off", help="It feeds no memory at all.")] = False,
) -> None:
    """Switch a source on or off, for everybody.

    Example: orbit switch blink.blinks --off
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.administration import switch_source

    if on == off:
        raise UsageError("Say --on or --off: one of the two.")
    with open_database(load_settings()) as connection:
        is_changed = switch_source(connection, source, in_rag=on)
    state = "on" if on else "off"
    typer.echo(f"{source} is {state} now. {FOLLOWS}" if is_changed else f"It was {state} already; nothing changed.")


@app.command("sources", rich_help_panel=PANEL)
def sources_command(user: User, as_json: AsJson = False) -> None:
    """List the sources for a person: included, or left out and why.

    Example: orbit sources --user noor
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show, table
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.resolution import resolve_build_sources

    with open_database(load_settings()) as connection:
        statuses = resolve_build_sources(connection, user)
    if as_json:
        print_json(
            [
                {"source_key": each.source_key, "is_included": each.is_included, "reason": each.reason}
                for each in statuses
            ]
        )
        return
    listed = table("source", "status", "reason")
    for each in statuses:
        listed.add_row(each.source_key, "included" if each.is_included else "not included", each.reason or "")
    show(listed)
