"""Building memory and seeing how it stands: `orbit build`, `orbit status`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbit_pipelines.cli.failures import explain_failed_run
from orbit_pipelines.cli.options import AsJson, Users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from orbit_pipelines.building.overview import ScopeCounts
    from orbit_pipelines.building.run import BuildRequest
    from orbit_pipelines.building.status import MemoryStatus, RecentBuild
    from orbit_pipelines.database.server import ServerStatus
    from orbit_pipelines.launching import CheckOutcome, LaunchResult
    from orbit_pipelines.settings import Settings

app = typer.Typer()

PANEL = "Memory"

ENDED_WELL = ("published", "unchanged")
TROUBLES_SHOWN = 3


@app.command("build", rich_help_panel=PANEL)
def build_command(
    full: Annotated[
        bool, typer.Option("--full", help="Take everything and replace memory, not only what changed.")
    ] = False,
    users: Users = None,
    re_embed: Annotated[
        bool, typer.Option("--re-embed", help="Compute every embedding again; makes the build full.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring memory up to date, as a Dagster run that the UI shows, and check it.

    Fails (exit code 1) when the build or one of its checks does.

    Example: orbit build --user mara --json
    """
    from orbit_pipelines.building.overview import count_scope, require_known
    from orbit_pipelines.building.run import BuildRequest
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show
    from orbit_pipelines.model import Mode
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    request = BuildRequest(Mode.FULL if full else Mode.INCREMENTAL, tuple(users or ()), re_embed)
    with open_database(settings) as connection:
        require_known(connection, request.users)
        result = run_build(settings, request)
        answer = build_as_json(result, count_scope(connection, request.users))
    if as_json:
        print_json(answer)
    else:
        show(*build_report(result, answer))
    end_with(result)


@app.command("status", rich_help_panel=PANEL)
def status_command(as_json: AsJson = False) -> None:
    """Show the server, the last build, what went wrong since, and whether changes wait. Starts nothing.

    Example: orbit status
    """
    from orbit_pipelines.building.status import read_memory_status
    from orbit_pipelines.cli.output import print_json, show
    from orbit_pipelines.database.connection import connect
    from orbit_pipelines.database.schema import current_revision, head_revision
    from orbit_pipelines.database.server import NOT_RUNNING, ORBIT_DATABASE, embedded_server, server_status
    from orbit_pipelines.embedders.registry import create_embedder
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    server = server_status(settings)
    revision, memory = None, None
    if server.problem is None:
        url = settings.database_url or embedded_server(settings).url(ORBIT_DATABASE)
        revision = current_revision(url)
        if revision == head_revision():
            with connect(url, autocommit=True) as connection:
                memory = read_memory_status(connection, settings, create_embedder(settings))
    if as_json:
        print_json(
            {
                "server": {
                    "is_embedded": server.is_embedded,
                    "address": server.address,
                    "version": server.version,
                    "pgvector": server.pgvector,
                    "problem": server.problem,
                },
                "schema": {"found": revision, "needed": head_revision()},
                "memory": None if memory is None else memory.as_json(),
                "home": str(settings.home),
                "lineage": str(settings.lineage),
            }
        )
    else:
        show("\n".join(_status_lines(settings, server, revision, head_revision(), memory)))
    if server.problem not in (None, NOT_RUNNING):
        raise typer.Exit(1)


def run_build(settings: "Settings", request: "BuildRequest") -> "LaunchResult":
    """Launch a build, with its steps shown on a terminal."""
    from orbit_pipelines.cli.output import step_progress
    from orbit_pipelines.model import Mode

    with step_progress() as progress:
        starting = progress.add_task("starting", total=None)
        # Dagster takes seconds to import; the display is there meanwhile.
        from orbit_pipelines import jobs
        from orbit_pipelines.launching import launch

        tasks = {}

        def advance(step: str, count: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=None)
            progress.advance(tasks[step], count)

        is_full = request.mode is Mode.FULL or request.re_embed
        result = launch(settings, jobs.FULL_REBUILD if is_full else jobs.QUICK_UPDATE, request, advance)
        progress.remove_task(starting)
    return result


def end_with(result: "LaunchResult") -> None:
    """End the command with exit code 1, and say why, when the build failed or a check that counts as an error did."""
    if result.failure is not None and "ExecutionInterrupted" in result.failure:
        # Dagster takes the interrupt and ends the run in order.
        is_published = result.build is not None and result.build.status == "published"
        told = "the build had published" if is_published else "nothing was published; what was embedded is kept"
        typer.echo(f"Interrupted: {told}.", err=True)
        raise typer.Exit(130)
    if result.failure is not None:
        typer.echo(f"Error: the build failed: {explain_failed_run(result.failure)}", err=True)
        typer.echo(f"Dagster run {result.dagster_run_id} has the trace: orbit up", err=True)
    failed = [check.name for check in result.checks if not check.passed and check.severity == "ERROR"]
    if failed:
        typer.echo(f"Error: {', '.join(failed)} failed; Dagster run {result.dagster_run_id} says more.", err=True)
    if failed or not result.success or result.build is None or result.build.status not in ENDED_WELL:
        raise typer.Exit(1)


def build_report(result: "LaunchResult", answer: dict[str, Any]) -> list["RenderableType"]:
    """Return what a person reads about a build: its counts, and its checks."""
    build = result.build
    if build is None:
        return ["No build began."]
    if result.is_unchanged:
        return [
            f"Nothing changed: memory stays as it is, {answer['unchanged']:,} chunks. "
            f"Build {build.build_id} ({build.mode}) is on record."
        ]
    lines = [f"Build {build.build_id} ({build.mode}): {build.status}" + (f", {build.note}" if build.note else "")]
    if build.status == "published":
        lines += [
            f"  chunks      {build.added:,} added, {build.removed:,} removed, {build.updated:,} updated, "
            f"{answer['unchanged']:,} unchanged",
            f"  left out    {answer['skipped']:,} pairs and records",
            f"  embeddings  {build.embedded:,} computed, {build.from_cache:,} from the cache",
        ]
    return ["\n".join(lines), *check_report(result.checks)]


def check_report(checks: "Sequence[CheckOutcome]") -> list["RenderableType"]:
    """Return the checks and their outcome as a table; nothing when none ran."""
    from orbit_pipelines.cli.output import table

    if not checks:
        return []
    listed = table("check", "outcome", "says")
    for check in checks:
        outcome = "passed" if check.passed else "FAILED" if check.severity == "ERROR" else "warns"
        listed.add_row(check.name, outcome, check.description or "")
    return ["", listed]


def build_as_json(result: "LaunchResult", counts: "ScopeCounts") -> dict[str, Any]:
    """Return what a build did as values that JSON can hold; ``counts`` are of its people, after it."""
    build = result.build
    did = {name: getattr(build, name, None) or 0 for name in ("added", "removed", "updated", "embedded", "from_cache")}
    return {
        **{name: getattr(build, name, None) for name in ("build_id", "mode", "status", "note")},
        **did,
        "unchanged": counts.chunks - did["added"] - did["updated"],
        "skipped": counts.skipped,
        "checks": [
            {name: getattr(check, name) for name in ("name", "passed", "severity", "description")}
            for check in result.checks
        ],
        "failure": result.failure,
        "dagster_run_id": result.dagster_run_id,
    }


def _status_lines(
    settings: "Settings", server: "ServerStatus", revision: str | None, needed: str, memory: "MemoryStatus | None"
) -> list[str]:
    from orbit_pipelines.database.server import NOT_RUNNING

    kind = "embedded" if server.is_embedded else "your own"
    if server.problem is None:
        lines = [f"server      {kind}: PostgreSQL {server.version}, pgvector {server.pgvector or 'not installed yet'}"]
    else:
        lines = [f"server      {kind}: {server.problem}"]
    lines.append(f"            {server.address}")
    if server.problem is not None:
        if server.problem == NOT_RUNNING:
            lines.append("            Every other command starts it, and so does: orbit up")
    elif revision == needed:
        lines.append(f"schema      {revision}, up to date")
    else:
        lines.append(f"schema      {revision or 'no tables yet'}; this program needs {needed}. Run: orbit migrate")
    if memory is not None:
        lines += _memory_lines(memory)
    has_lineage = (settings.lineage / "lineage.duckdb").exists()
    lines.append(f"lineage     {settings.lineage}" + ("" if has_lineage else " (made by the first build)"))
    lines.append(f"home        {settings.home}")
    return lines


def _memory_lines(memory: "MemoryStatus") -> list[str]:
    from orbit_pipelines.building.failure_notes import has_advice

    lines = [f"memory      {memory.accounts:,} accounts, {memory.pairs:,} pairs, {memory.chunks:,} chunks"]
    last = memory.last_build
    lines.append("last build  none yet. Run: orbit build" if last is None else f"last build  {_described(last)}")
    if not memory.is_behind:
        lines.append("pending     nothing: memory is up to date")
    elif memory.why_everything:
        lines.append(f"pending     everything ({memory.why_everything}). Run: orbit build")
    else:
        lines.append("pending     changes since the last build. Run: orbit build")
    kept_out = memory.admission
    if kept_out.rules or kept_out.pairs:
        lines.append(
            f"admission   {kept_out.rules:,} rules match {kept_out.sessions:,} sessions; {kept_out.pairs:,} of their"
            " pairs are not_admitted. List the rules: orbit admission list"
        )
    lines += [f"running     {_described(build)}" for build in memory.running]
    for build in memory.troubles[:TROUBLES_SHOWN]:
        lines.append(f"trouble     {_described(build)}")
        if build.is_dead:
            lines.append("            Its process is gone; the next build cleans up after it. Run: orbit build")
        else:
            run = f"Dagster run {build.dagster_run_id} has the trace. " if build.dagster_run_id else ""
            # Where the note says what to do, a plain next build would only fail again.
            then = "" if build.status == "failed" and has_advice(build.note) else " Run: orbit build"
            lines.append(f"            {run}What was published before is in force.{then}")
    if len(memory.troubles) > TROUBLES_SHOWN:
        lines.append(f"            … and {len(memory.troubles) - TROUBLES_SHOWN:,} earlier ones: orbit status --json")
    lines += [
        f"workspace   {path} is left from a build that ended; the next one removes it" for path in memory.workspaces
    ]
    return lines


def _described(build: "RecentBuild") -> str:
    state = "dead" if build.is_dead else build.status
    who = f" for {', '.join(build.scope['users'])}" if "users" in build.scope else ""
    counts = f": {build.added:,} added, {build.removed:,} removed" if build.status == "published" else ""
    when = build.ended_at or build.started_at
    note = f" ({build.note})" if build.note else ""
    return f"{build.build_id} ({build.mode}{who}), {state} {when:%Y-%m-%d %H:%M:%S} UTC{counts}{note}"
