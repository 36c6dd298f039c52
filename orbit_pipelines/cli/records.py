"""Blinks, documents and profile facts: `orbit record`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from orbit_pipelines.cli.options import Agent, AsJson, RecordId, Source, User, parse_text
from orbit_pipelines.errors import UsageError
from orbit_pipelines.model import CHAT_HISTORY, DEFAULT_AGENT, Store

app = typer.Typer()
record = typer.Typer(no_args_is_help=True, help="Store, exclude, list and remove blinks, documents and facts.")
app.add_typer(record, name="record", rich_help_panel="Chats")

FOLLOWS = "Memory follows at the next build: orbit build"


@record.command("put")
def put(
    source: Source,
    record_id: RecordId,
    user: User,
    text: Annotated[str | None, typer.Option(metavar="TEXT", parser=parse_text, help="Its text.")] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="A UTF-8 file with its text; - is a pipe.")] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", parser=parse_text, help="What it is called.")] = None,
    agent: Agent = DEFAULT_AGENT,
) -> None:
    """Store a record as it is now. Whether it is excluded stays as it was.

    Example: orbit record put profile.facts allergy --user mara --text "Allergic to hazelnuts."
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.records import put_record

    if (text is None) == (file is None):
        raise UsageError("Give the text by --text or by --file: one of the two.")
    content = text if text is not None else _read(str(file))
    with open_database(load_settings()) as connection:
        is_changed = put_record(connection, Store(user, agent), source, record_id, content, title=title)
    typer.echo(f"Stored. {FOLLOWS}" if is_changed else "It was so already; nothing changed.")


@record.command("exclude")
def exclude(source: Source, record_id: RecordId, user: User, agent: Agent = DEFAULT_AGENT) -> None:
    """Keep a record out of memory from the next build on.

    Example: orbit record exclude files.documents doc-plot-17 --user mara
    """
    _set_excluded(source, record_id, Store(user, agent), excluded=True)


@record.command("include")
def include(source: Source, record_id: RecordId, user: User, agent: Agent = DEFAULT_AGENT) -> None:
    """Take an exclusion back.

    Example: orbit record include files.documents doc-plot-17 --user mara
    """
    _set_excluded(source, record_id, Store(user, agent), excluded=False)


@record.command("remove")
def remove(source: Source, record_id: RecordId, user: User, agent: Agent = DEFAULT_AGENT) -> None:
    """Delete a record.

    Example: orbit record remove files.documents doc-plot-17 --user mara
    """
    from orbit_pipelines.cli.opening import account_first, open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.sources.records import delete_record

    with open_database(load_settings()) as connection, account_first(connection, user):
        delete_record(connection, Store(user, agent), source, record_id)
    typer.echo(f"Deleted. {FOLLOWS}")


@record.command("list")
def list_command(user: User, agent: Agent = DEFAULT_AGENT, as_json: AsJson = False) -> None:
    """List the records of a person, and whether memory has each.

    Example: orbit record list --user mara
    """
    import polars as pl

    from orbit_pipelines.building.states import record_states
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, shortened, show, table
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        states = record_states(connection, user)
    records = (
        states.filter((pl.col("agent_id") == agent) & (pl.col("source_key") != CHAT_HISTORY))
        .sort("source_key", "source_id")
        .select("source_key", "source_id", "state", "reason", text="own_text")
        .to_dicts()
    )
    if as_json:
        print_json(records)
        return
    listed = table("source", "record", "state", "text", whole=["source", "record"])
    for each in records:
        state = each["state"] if each["reason"] is None else f"{each['state']}: {each['reason']}"
        listed.add_row(each["source_key"], each["source_id"], state, shortened(each["text"], 40))
    show(listed)


def _set_excluded(source: str, record_id: str, store: Store, *, excluded: bool) -> None:
    from orbit_pipelines.cli.opening import account_first, open_database
    from orbit_pipelines.history.flags import set_record_excluded
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection, account_first(connection, store.user_id):
        change = set_record_excluded(connection, store, source, record_id, excluded)
    state = "excluded" if excluded else "included"
    typer.echo(f"Marked as {state}. {FOLLOWS}" if change.was_changed else f"It was {state} already; nothing changed.")


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}. Check the path.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no UTF-8 text. Convert it first.") from None
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}.") from None
