"""Taking out of memory what selected sessions left there: `orbit forget`."""

from typing import TYPE_CHECKING, Annotated

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
    from collections.abc import Callable

    from orbit_pipelines.forgetting.report import Report

app = typer.Typer()

IDS_SHOWN = 20


@app.command("forget", cls=SelectingCommand, rich_help_panel="Forgetting")
def forget_command(
    user: User,
    agent: Agent = None,
    session: Sessions = None,
    participant: Participants = None,
    hook_source: HookSources = None,
    record: Records = None,
    account: Account = False,
    since: Since = None,
    rederive: Annotated[
        bool, typer.Option("--rederive", help="Make entries with other origins too again, from those alone.")
    ] = False,
    physical: Annotated[
        bool, typer.Option("--physical", help="Rewrite the tables that held it, and look for its bytes.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what the same command would do; write nothing.")] = (
        False
    ),
    if_plan: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="Refuse when a preview would no longer have this digest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take out of memory what selected sessions left there, at once, and make sure that it is gone.

    Preview with --dry-run, read, then repeat the identical command without it. There is no way back. Messages and
    records themselves stay: they are the person's history.

    Example: orbit forget --user mara --session 2fca883f-a55f-53ca-a2f4-30606eb566a9 --dry-run
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import remark
    from orbit_pipelines.forgetting.selection import ForgetRequest
    from orbit_pipelines.forgetting.service import NotVerified, PlanChanged, Progress, forget
    from orbit_pipelines.settings import load_settings

    selectors = selectors_from(user, agent, session, participant, hook_source, record, account, since)
    request = ForgetRequest(selectors, rederive, physical, dry_run, if_plan)
    progress = Progress(
        on_wait=lambda: remark(WAITING), on_lock=lambda tables: remark(LOCKING.format(tables=", ".join(tables)))
    )
    settings = load_settings()
    with open_database(settings) as connection:
        try:
            report = forget(connection, settings, request, progress=progress)
        except (PlanChanged, NotVerified) as refused:
            _print(refused.report, as_json)
            raise
    _print(report, as_json)


LOCKING = "Writing anew, and locking for everyone meanwhile: {tables}."
WAITING = "A build is publishing this person's memory. The tombstones stand already; waiting for its end."


def _print(report: "Report", as_json: bool) -> None:
    from orbit_pipelines.cli.output import print_json, show

    if as_json:
        print_json(report.as_json())
    else:
        show("\n".join(report_lines(report)))


def report_lines(report: "Report") -> list[str]:
    """Return what a person reads about a forget, or its preview."""
    from orbit_pipelines.cli.output import printable
    from orbit_pipelines.forgetting.telling import tell

    return [printable_line(line, printable) for line in tell(report, ids_shown=IDS_SHOWN)]


def printable_line(line: str, printable: "Callable[[str], str]") -> str:
    """Return a line that steers no terminal, with its indentation."""
    bare = line.lstrip(" ")
    return " " * (len(line) - len(bare)) + printable(bare)
