"""What is remembered and why: `orbit pairs`, `orbit why`, `orbit flag`."""

from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

import typer

from orbit_pipelines.cli.options import Agent, AsJson, Message, Session, User
from orbit_pipelines.errors import UsageError
from orbit_pipelines.model import DEFAULT_AGENT, Store

app = typer.Typer()

PANEL = "What is remembered"


@app.command("pairs", rich_help_panel=PANEL)
def pairs_command(user: User, agent: Agent = DEFAULT_AGENT, as_json: AsJson = False) -> None:
    """List every pair of a person, whether memory has it, and what the next build does.

    Example: orbit pairs --user mara --json
    """
    from orbit_pipelines.building.states import pair_states
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection, connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        pairs = pair_states(connection, Store(user, agent)).to_dicts()
    if as_json:
        print_json(pairs)
    elif not pairs:
        typer.echo(f"{user} has no pairs with agent {agent}. Import some: orbit import my-export.zip --user {user}")
    else:
        _show_pairs(pairs)


@app.command("why", rich_help_panel=PANEL)
def why_command(
    session: Session, message: Message, user: User, agent: Agent = DEFAULT_AGENT, as_json: AsJson = False
) -> None:
    """Say whether a message is in memory, the reason, and the build that decided.

    Example: orbit why 2fca883f-a55f-53ca-a2f4-30606eb566a9 c0d01e33-a39a-5d06-b9ce-3e6f66b71c17 --user mara
    """
    from orbit_pipelines.cli.opening import account_first, open_database
    from orbit_pipelines.cli.output import print_json, show
    from orbit_pipelines.lineage.telling import story_as_json, story_table
    from orbit_pipelines.lineage.why import why
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection, account_first(connection, user):
        story = why(connection, Store(user, agent), session, message)
    if as_json:
        print_json(story_as_json(story))
    else:
        show(story_table(story))


@app.command("flag", rich_help_panel=PANEL)
def flag_command(
    session: Session,
    message: Message,
    user: User,
    remembered: Annotated[bool, typer.Option("--remembered", help="Memory may hold it.")] = False,
    not_remembered: Annotated[bool, typer.Option("--not-remembered", help="Memory may not hold it.")] = False,
    agent: Agent = DEFAULT_AGENT,
    as_json: AsJson = False,
) -> None:
    """Mark a user message as remembered or not; its pair follows at the next build.

    Example: orbit flag 2fca883f-a55f-53ca-a2f4-30606eb566a9 c0d01e33-a39a-5d06-b9ce-3e6f66b71c17 --user mara --not-remembered
    """  # noqa: E501 - an example is one line, to be copied
    from orbit_pipelines.cli.opening import account_first, open_database
    from orbit_pipelines.cli.output import print_json
    from orbit_pipelines.history.flags import set_remembered
    from orbit_pipelines.settings import load_settings

    if remembered == not_remembered:
        raise UsageError("Say --remembered or --not-remembered: one of the two.")
    with open_database(load_settings()) as connection, account_first(connection, user):
        change = set_remembered(connection, Store(user, agent), session, message, remembered)
    state = "remembered" if remembered else "not remembered"
    if as_json:
        print_json({"not_remembered": change.is_excluded, "was_changed": change.was_changed})
    elif change.was_changed:
        typer.echo(f"Marked as {state}. Memory follows at the next build: orbit build")
    else:
        typer.echo(f"It was marked as {state} already; nothing changed.")


def _show_pairs(pairs: list[dict[str, Any]]) -> None:
    from orbit_pipelines.cli.output import printable, shortened, show, table

    for session_id, group in groupby(pairs, itemgetter("session_id")):
        listed = table("pair", "message", "state", "text", numbers=["pair"], whole=["message"])
        for pair in group:
            state = pair["state"] if pair["reason"] is None else f"{pair['state']}: {pair['reason']}"
            reply = "" if pair["reply_text"] is None else f" → {shortened(pair['reply_text'], 30)}"
            listed.add_row(str(pair["pair_index"]), pair["message_id"], state, shortened(pair["user_text"], 40) + reply)
        show(f"Session {printable(session_id)}", listed, "")
