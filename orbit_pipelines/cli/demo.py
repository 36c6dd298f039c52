"""`orbit demo`: from nothing to a built memory of the sample, and what to look at then. `make run` calls it."""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from orbit_pipelines.building.overview import PersonOverview
    from orbit_pipelines.settings import Settings

app = typer.Typer()


@app.command("demo", rich_help_panel="Memory")
def demo_command() -> None:
    """Load the sample history, build memory, and show what it holds and what to try next.

    The second time the build finds that nothing changed.

    Example: orbit demo
    """
    from orbit_pipelines.building.hashing import load_hash_key
    from orbit_pipelines.building.overview import count_scope, read_overview
    from orbit_pipelines.building.run import BuildRequest
    from orbit_pipelines.building.scope import Scope, read_watermarks
    from orbit_pipelines.cli.builds import build_as_json, build_report, end_with, run_build
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import show
    from orbit_pipelines.model import Mode
    from orbit_pipelines.sample.loading import load_sample
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    with open_database(settings) as connection:
        loaded = load_sample(connection, load_hash_key(settings))
        if loaded.accounts:
            typer.echo(
                f"Loaded the sample: {len(loaded.accounts)} people, {loaded.sessions} sessions, {loaded.pairs} pairs, "
                f"{loaded.records} blinks, documents and facts."
            )
        is_first = read_watermarks(connection, Scope()).bucket is None
        result = run_build(settings, BuildRequest(Mode.FULL if is_first else Mode.INCREMENTAL))
        people = read_overview(connection)
        report = build_report(result, build_as_json(result, count_scope(connection)))
        example = _remembered_message(connection)
    show(
        *report, "", "What memory holds, by account:", "", _table(people), "", "\n".join(_whats_next(settings, example))
    )
    end_with(result)


def _table(people: "tuple[PersonOverview, ...]") -> "Table":
    from orbit_pipelines.cli.output import table

    listed = table("account (plan)", "sources", "pairs", "chunks", "pairs left out", numbers=["pairs", "chunks"])
    for person in people:
        sources = []
        for each in person.sources:
            sources += [f"{'+' if each.is_included else '-'} {each.source_key}", f"    {each.reason}"][
                : 2 if each.reason else 1
            ]
        listed.add_row(
            f"{person.user_id}\n({person.plan_key})",
            "\n".join(sources),
            f"{person.pairs:,}",
            f"{person.chunks:,}",
            "\n".join(f"{count:,} {reason}" for reason, count in person.pairs_skipped.items()) or "none",
        )
    return listed


def _remembered_message(connection: Any) -> tuple[str, str, str] | None:
    """Return user, session and message of some pair in memory, to try commands on."""
    row: tuple[str, str, str] | None = connection.execute(
        "select user_id, session_id, message_id from memory.chunk"
        " where message_id is not null and session_id is not null and source_key = 'orbitpilot.chat_history'"
        " order by user_id, session_id, source_id limit 1"
    ).fetchone()
    return row


def _whats_next(settings: "Settings", example: tuple[str, str, str] | None) -> list[str]:
    from orbit_pipelines.cli.output import command_name

    orbit = command_name()
    lines = [f"Lineage: {settings.lineage / 'lineage.duckdb'} (docs/lineage.md has ten questions to ask it)", ""]
    lines.append("Try next:")
    if example is not None:
        user, session, message = example
        lines += [
            f"  {orbit} why {session} {message} --user {user}",
            f"  {orbit} flag {session} {message} --user {user} --not-remembered",
            f"  {orbit} build",
        ]
    return [
        *lines,
        f"  {orbit} account password mara   so that she can sign in to the pages",
        f"  {orbit} up                 the pages, and the Dagster UI with this build in it",
        f"  {orbit} import my-export.zip --user me --create-user",
        f"  {orbit} --help",
    ]
