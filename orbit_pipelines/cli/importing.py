"""`orbit import`: files of chats into a person's history."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbit_pipelines.cli.failures import explain
from orbit_pipelines.cli.options import Agent, AsJson, User
from orbit_pipelines.errors import ImportFailed
from orbit_pipelines.model import DEFAULT_AGENT, Store

if TYPE_CHECKING:
    from orbit_pipelines.history.importing import ImportResult
    from orbit_pipelines.history.stream import Problems

app = typer.Typer()

PROBLEMS_SHOWN = 5
"""How many problems of a kind are named to a person; --json names more."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one file: what its import did, or why nothing of it was stored."""

    file: str
    problems: "Problems"
    result: "ImportResult | None" = None
    error: str | None = None


@app.command("import", rich_help_panel="Chats")
def import_command(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files to import: .zip, .json or .jsonl; - reads a pipe.")
    ],
    user: User,
    agent: Agent = DEFAULT_AGENT,
    format_name: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="The files' format; auto looks into each.")
    ] = "auto",
    create_user: Annotated[
        bool, typer.Option("--create-user", help="Make the account, on the default plan, if it is missing.")
    ] = False,
    mirror: Annotated[
        bool, typer.Option("--mirror", help="Delete messages that a file lacks, in the sessions it holds.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import chats: each file whole or not at all.

    The same file twice changes nothing. Memory follows at the next build.

    Example: orbit import my-export.zip --user me --create-user
    """
    import psycopg

    from orbit_pipelines.building.hashing import load_hash_key
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import byte_progress, print_json
    from orbit_pipelines.history.accounts import require_account
    from orbit_pipelines.history.files import import_file
    from orbit_pipelines.history.formats.registry import AUTO, FORMATS
    from orbit_pipelines.history.stream import Problems
    from orbit_pipelines.settings import load_settings

    known = (AUTO, *FORMATS)
    if format_name not in known:
        raise typer.BadParameter(
            f"There is no format {format_name!r}. Known: {', '.join(known)}.", param_hint="--format"
        )
    settings = load_settings()
    outcomes = []
    with open_database(settings) as connection, byte_progress() as progress:
        hash_key = load_hash_key(settings)
        if not create_user:
            require_account(connection, user)
        for path in paths:
            problems = Problems()
            task = progress.add_task(path, total=None)
            try:
                result = import_file(
                    connection,
                    Store(user, agent),
                    path,
                    hash_key=hash_key,
                    problems=problems,
                    format_name=format_name,
                    creates_account=create_user,
                    mirror=mirror,
                    batch_messages=settings.batch_messages,
                    on_open=lambda export, task=task: progress.update(task, total=export.size),  # type: ignore[misc]
                    on_bytes=lambda count, task=task: progress.advance(task, count),  # type: ignore[misc]
                )
                outcomes.append(_Outcome(path, problems, result))
            except (ImportFailed, psycopg.errors.DiskFull) as error:
                outcomes.append(_Outcome(path, problems, error=explain(error)[0]))
    if as_json:
        print_json({"user_id": user, "agent_id": agent, "files": [_as_json(outcome) for outcome in outcomes]})
    for outcome in outcomes:
        _tell(outcome, is_quiet=as_json)
    if not as_json and any(outcome.result and outcome.result.changed_anything for outcome in outcomes):
        typer.echo("Memory follows at the next build: orbit build")
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


def _as_json(outcome: _Outcome) -> dict[str, Any]:
    counts = {} if outcome.result is None else asdict(outcome.result)
    problems = {"counts": outcome.problems.counts, "shown": [asdict(each) for each in outcome.problems.shown]}
    return {"file": outcome.file, "error": outcome.error, **counts, "problems": problems}


def _tell(outcome: _Outcome, *, is_quiet: bool) -> None:
    """Say what became of a file: failures on standard error, the rest on standard output unless JSON has it."""
    if outcome.error is not None:
        typer.echo(f"Error: {outcome.error}\n{outcome.file}: nothing of it was stored.", err=True)
    elif outcome.result is not None and not is_quiet:
        typer.echo("\n".join(_summary(outcome.file, outcome.result, outcome.problems)))


def _summary(file: str, result: "ImportResult", problems: "Problems") -> list[str]:
    lines = [
        f"{file}" if result.changed_anything else f"{file}: nothing changed",
        f"  sessions  {result.sessions_new:,} new, {result.sessions_changed:,} changed, "
        f"{result.sessions_unchanged:,} unchanged",
        f"  messages  {result.messages_new:,} new, {result.messages_changed:,} changed, "
        f"{result.messages_unchanged:,} unchanged",
    ]
    moved = {
        "off the active branch now": result.messages_deactivated,
        "back on it": result.messages_reactivated,
        "deleted": result.messages_deleted,
    }
    if any(moved.values()):
        lines.append("            " + ", ".join(f"{count:,} {what}" for what, count in moved.items() if count))
    lines.append(f"  pairs     {result.pairs_new:,} new")
    if result.flagged:
        lines.append(f"  flagged   {result.flagged:,} not to be remembered, as the file says")
    if problems.counts:
        lines.append("  problems  " + ", ".join(f"{count:,} {kind}" for kind, count in problems.counts.items()))
        for kind, count in problems.counts.items():
            shown = [problem for problem in problems.shown if problem.kind == kind][:PROBLEMS_SHOWN]
            lines += [f"    {problem.where}: {problem.what}" for problem in shown]
            if count > len(shown):
                lines.append(f"    … and {count - len(shown):,} more of {kind}")
    return lines
