"""`orbit import`: files of chats into a person's history."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbit_pipelines.cli.failures import explain
from orbit_pipelines.cli.options import Agent, AsJson, User
from orbit_pipelines.errors import ImportFailed, NoConversation, UnknownExportFormat
from orbit_pipelines.model import DEFAULT_AGENT, Reason, Store

if TYPE_CHECKING:
    from rich.progress import Progress

    from orbit_pipelines.history.importing import ImportResult
    from orbit_pipelines.history.reading import Export
    from orbit_pipelines.history.stream import Problems

app = typer.Typer()

PROBLEMS_SHOWN = 5
"""How many problems of a kind are named to a person; --json names more."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one file: what its import did, or why nothing of it was stored.

    ``is_skipped``: it lies in a folder and holds no conversation, which is no failure of the others. ``passed_over``
    counts what lies beside it, or in it, that is no data: images, pages, sounds. ``failed`` of the ``files`` of a
    folder couldn't be stored.
    """

    file: str
    problems: "Problems"
    result: "ImportResult | None" = None
    error: str | None = None
    is_skipped: bool = False
    passed_over: int = 0
    files: int = 1
    failed: int = 0


@app.command("import", rich_help_panel="Chats")
def import_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Exports (.zip, .json, .jsonl, .parquet), folders of them; - reads a pipe."
        ),
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and store nothing.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything was skipped or replaced; the rest is imported.")
    ] = False,
    bot: Annotated[
        str | None, typer.Option("--bot", metavar="ID", help="Slack: which bot is the assistant (ORBIT_SLACK_BOT).")
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="ID", help="Slack: which user the account's person is.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import chats: each file whole or not at all.

    The same file twice changes nothing. Memory follows at the next build.

    Example: orbit import my-export.zip --user me --create-user
    """
    from orbit_pipelines.building.hashing import load_hash_key
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import byte_progress, print_json
    from orbit_pipelines.history.accounts import require_account
    from orbit_pipelines.history.files import import_file
    from orbit_pipelines.history.formats.registry import AUTO, FORMATS
    from orbit_pipelines.history.formats.slack_workspace import Speakers
    from orbit_pipelines.history.reading import STANDARD_INPUT
    from orbit_pipelines.settings import load_settings

    known = (AUTO, *FORMATS)
    if format_name not in known:
        raise typer.BadParameter(
            f"There is no format {format_name!r}. Known: {', '.join(known)}.", param_hint="--format"
        )
    if paths.count(STANDARD_INPUT) > 1:
        raise typer.BadParameter("Standard input can be read once. Name - once.", param_hint="PATH")
    settings = load_settings()
    outcomes: list[_Outcome] = []
    summaries: list[_Outcome] = []
    with open_database(settings) as connection, byte_progress() as progress:
        hash_key = load_hash_key(settings)
        if not create_user:
            require_account(connection, user)
        import_one = partial(
            import_file,
            connection,
            Store(user, agent),
            hash_key=hash_key,
            format_name=format_name,
            creates_account=create_user,
            mirror=mirror,
            batch_messages=settings.batch_messages,
            speakers=Speakers(bot or settings.slack_bot, owner),
        )
        # Together, so that a conversation in two files counts as what the second finds of the first.
        with connection.transaction(force_rollback=True) if dry_run else nullcontext():
            for path in paths:
                of_path = list(_import_path(path, import_one, progress))
                outcomes += of_path
                summaries.append(_sum_up(path, of_path))
    if as_json:
        files = [_as_json(outcome) for outcome in outcomes]
        print_json({"user_id": user, "agent_id": agent, "dry_run": dry_run, "files": files})
    for summary in summaries:
        _tell(summary, is_quiet=as_json, is_dry=dry_run)
    has_changed = any(outcome.result and outcome.result.changed_anything for outcome in outcomes)
    if not as_json and has_changed and not dry_run:
        typer.echo("Memory follows at the next build: orbit build")
    if any(summary.error for summary in summaries) or (strict and any(each.problems.counts for each in summaries)):
        raise typer.Exit(1)


def _import_path(path: str, import_one: Callable[..., "ImportResult"], progress: "Progress") -> Iterator[_Outcome]:
    """Import the file at ``path``, or every file of the folder there, and yield what became of each."""
    import os

    import psycopg

    from orbit_pipelines.history.folders import list_exports
    from orbit_pipelines.history.stream import Problems

    files = [path]
    passed_over = [0]
    if os.path.isdir(path):
        try:
            folder = list_exports(path)
            files, passed_over = [str(each) for each in folder.exports], [folder.passed_over]
        except ImportFailed as error:
            yield _Outcome(path, Problems(), error=str(error))
            return
    task = progress.add_task(path, total=None)
    sizes: list[int] = []

    def expect(export: "Export") -> None:
        sizes.append(export.size or 0)
        passed_over.append(export.passed_over)
        progress.update(task, total=sum(sizes) or None)

    for file in files:
        problems = Problems()
        try:
            result = import_one(
                file, problems=problems, on_open=expect, on_bytes=lambda count: progress.advance(task, count)
            )
            yield _Outcome(file, problems, result, passed_over=sum(passed_over))
        except (ImportFailed, psycopg.errors.DiskFull) as error:
            is_skipped = len(files) > 1 and isinstance(error, NoConversation | UnknownExportFormat)
            yield _Outcome(file, problems, error=explain(error)[0], is_skipped=is_skipped, passed_over=sum(passed_over))
        passed_over.clear()


def _sum_up(path: str, outcomes: list[_Outcome]) -> _Outcome:
    """Return what became of a path as a whole: a folder's files together, those without conversations as problems."""
    from orbit_pipelines.history.importing import ImportResult
    from orbit_pipelines.history.stream import Problems

    if len(outcomes) == 1:
        return replace(outcomes[0], file=path)
    problems = Problems()
    for outcome in outcomes:
        name = outcome.file.removeprefix(path).lstrip("/")
        problems.take(outcome.problems, name)
        if outcome.is_skipped:
            problems.add("unknown_file", name, f"skipped: {outcome.error}")
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    errors = [f"{each.file}: {each.error}" for each in outcomes if each.error and not each.is_skipped]
    if not results and not errors:
        first = f"The first, {outcomes[0].file}: {outcomes[0].error}"
        errors = [f"None of the {len(outcomes):,} files in {path} holds a conversation. {first}"]
    result = sum(results, ImportResult()) if results else None
    passed_over = sum(each.passed_over for each in outcomes)
    return _Outcome(
        path,
        problems,
        result,
        "\nError: ".join(errors) or None,
        passed_over=passed_over,
        files=len(outcomes),
        failed=len(errors),
    )


def _as_json(outcome: _Outcome) -> dict[str, Any]:
    counts = {} if outcome.result is None else asdict(outcome.result)
    problems = {"counts": outcome.problems.counts, "shown": [asdict(each) for each in outcome.problems.shown]}
    return {
        "file": outcome.file,
        "error": outcome.error,
        "is_skipped": outcome.is_skipped,
        "passed_over": outcome.passed_over,
        **counts,
        "problems": problems,
    }


def _tell(outcome: _Outcome, *, is_quiet: bool, is_dry: bool) -> None:
    """Say what became of a path: failures on standard error, the rest on standard output unless JSON has it."""
    if outcome.result is not None and not is_quiet:
        typer.echo("\n".join(_summary(outcome.file, outcome.result, outcome.problems, is_dry=is_dry)))
        if outcome.passed_over:
            typer.echo(f"  files     {outcome.passed_over:,} others passed over")
    if outcome.error is not None:
        what = "nothing of it was stored"
        if outcome.result is not None:
            these = "this file" if outcome.failed == 1 else f"these {outcome.failed:,} files"
            others = "would be stored" if is_dry else "is stored"
            what = f"nothing of {these} was stored; what the others of its {outcome.files:,} files hold {others}"
        typer.echo(f"Error: {outcome.error}\n{outcome.file}: {what}.", err=True)


def _summary(file: str, result: "ImportResult", problems: "Problems", *, is_dry: bool) -> list[str]:
    nothing = "nothing would change" if is_dry else "nothing changed"
    something = f"{file}: this would change; nothing was stored" if is_dry else file
    lines = [
        something if result.changed_anything else f"{file}: {nothing}",
        f"  sessions  {result.sessions_new:,} new, {result.sessions_grown:,} grown, {result.sessions_edited:,} edited, "
        f"{result.sessions_unchanged:,} unchanged",
        f"  messages  {result.messages_new:,} new, {result.messages_changed:,} edited, "
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
        lines.append(f"  flagged   {result.flagged:,} not to be remembered")
    if result.session_forgotten:
        sessions = "1 session is" if result.session_forgotten == 1 else f"{result.session_forgotten:,} sessions are"
        lines.append(f"  {Reason.SESSION_FORGOTTEN}  {sessions} kept as history only, and never in memory again")
    if problems.counts:
        lines.append("  problems  " + ", ".join(f"{count:,} {kind}" for kind, count in problems.counts.items()))
        for kind, count in problems.counts.items():
            shown = [problem for problem in problems.shown if problem.kind == kind][:PROBLEMS_SHOWN]
            lines += [f"    {problem.where}: {problem.what}" for problem in shown]
            if count > len(shown):
                lines.append(f"    … and {count - len(shown):,} more of {kind}")
    return lines
