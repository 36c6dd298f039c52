"""Looking whether what was forgotten is gone: `orbit verify`. It only reads."""

from typing import TYPE_CHECKING

import typer

from orbit_pipelines.cli.options import AsJson, User
from orbit_pipelines.cli.selecting import (
    Account,
    Agent,
    HookSources,
    Participants,
    Records,
    SelectingCommand,
    Sessions,
    Since,
    selectors_from,
)

if TYPE_CHECKING:
    from orbit_pipelines.forgetting.verifying import Verification

app = typer.Typer()

NOTHING_FOUND = "Nothing found, as far as was looked. `orbit receipt show` tells what a forget doesn't cover."


@app.command("verify", cls=SelectingCommand, rich_help_panel="Forgetting")
def verify_command(
    user: User,
    agent: Agent = None,
    session: Sessions = None,
    participant: Participants = None,
    hook_source: HookSources = None,
    record: Records = None,
    account: Account = False,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """Look whether anything of selected sessions is left, by roads that don't depend on how it was taken. Only reads.

    Takes the selectors of `orbit forget`. Fails (exit code 1) when something is found.

    Example: orbit verify --user mara --session 2fca883f-a55f-53ca-a2f4-30606eb566a9
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show
    from orbit_pipelines.embedders.registry import create_embedder
    from orbit_pipelines.errors import UsageError
    from orbit_pipelines.forgetting.following import following
    from orbit_pipelines.forgetting.registry import KINDS
    from orbit_pipelines.forgetting.resolving import resolve
    from orbit_pipelines.forgetting.verifying import verify_now
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    selectors = selectors_from(user, agent, session, participant, hook_source, record, account, since)
    with open_database(settings) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        selection = resolve(connection, selectors)
        if selection.is_empty:
            raise UsageError("These selectors resolve to no session and no record: there is nothing to look for.")
        verification = verify_now(connection, settings, selection, following(KINDS), create_embedder(settings))
    if as_json:
        told = {"sessions": selection.session_ids, "records": [each.as_json() for each in selection.records]}
        print_json(told | verification.as_json())
    else:
        _show(verification)
        if verification.is_passed:
            show("", NOTHING_FOUND)
    if not verification.is_passed:
        from orbit_pipelines.forgetting.remedies import what_to_do

        advice = what_to_do(verification.absences)
        typer.echo(f"Error: {verification.found:,} found. What to do: {advice}", err=True)
        raise typer.Exit(1)


def _show(verification: "Verification") -> None:
    from orbit_pipelines.cli.output import printable, show, table
    from orbit_pipelines.forgetting.remedies import PLACES_SHOWN

    listed = table("looked at", "found", "gone to", "where", numbers=["found"])
    for name, absence in verification.kinds.items():
        listed.add_row(name, f"{absence.found:,}", "" if absence.found else absence.depth.value, "")
    for name, why in verification.unreadable.items():
        listed.add_row(name, "–", "not looked", printable(why))
    for name, each in verification.roads.items():
        if each.not_looked is not None and not each.found:
            listed.add_row(name, "–", "not looked", printable(each.not_looked))
        else:
            where = ", ".join(f"{place} ({count:,})" for place, count in list(each.where.items())[:PLACES_SHOWN])
            if len(each.where) > PLACES_SHOWN:
                where += f" and {len(each.where) - PLACES_SHOWN:,} more: --json lists all"
            listed.add_row(name, f"{each.found:,}", "" if each.found else each.depth.value, printable(where))
    show(listed)
