"""Who has a history here: `orbit account`."""

from typing import Annotated

import typer

from orbit_pipelines.cli.options import AsJson, UserArgument, parse_id
from orbit_pipelines.errors import UsageError

app = typer.Typer()
account = typer.Typer(no_args_is_help=True, help="Make, list and remove accounts, and put them on plans.")
app.add_typer(account, name="account", rich_help_panel="Administration")


@account.command("add")
def add(
    user: UserArgument,
    plan: Annotated[
        str | None, typer.Option(metavar="PLAN", parser=parse_id, help="Its plan; the default one unless said.")
    ] = None,
    locale: Annotated[str, typer.Option(metavar="LOCALE", parser=parse_id, help="The language of its pages.")] = "en",
) -> None:
    """Make an account; one that exists stays as it is.

    Example: orbit account add mara --plan complete --locale en
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.history.accounts import create_account
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection:
        is_new = create_account(connection, user, plan_key=plan, locale=locale)
    typer.echo(f"Made the account {user}." if is_new else f"There is an account {user} already; it stays as it is.")


@account.command("plan")
def plan_command(
    user: UserArgument,
    plan: Annotated[str | None, typer.Argument(metavar="[PLAN]", parser=parse_id, help="The plan's key.")] = None,
    default: Annotated[bool, typer.Option("--default", help="Put it on whatever plan is the default one.")] = False,
) -> None:
    """Put an account on a plan; its memory follows at the next build.

    Example: orbit account plan mara essential
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.history.accounts import set_plan
    from orbit_pipelines.settings import load_settings

    if (plan is None) != default:
        raise UsageError("Name a plan, or say --default: one of the two.")
    with open_database(load_settings()) as connection:
        is_changed = set_plan(connection, user, plan)
    where = "the default plan" if plan is None else f"plan {plan}"
    if is_changed:
        typer.echo(f"{user} is on {where} now. Memory follows at the next build: orbit build")
    else:
        typer.echo(f"{user} was on {where} already; nothing changed.")


@account.command("password")
def password_command(
    user: UserArgument,
    from_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read it from standard input, its first line, and don't ask.")
    ] = False,
) -> None:
    """Give an account a password, so that its person can sign in to the pages; sessions with an old one end.

    Example: orbit account password mara
    """
    import sys

    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.history.accounts import require_account
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.web.passwords import set_password

    with open_database(load_settings()) as connection:
        require_account(connection, user)
        if from_stdin:
            password = sys.stdin.readline().rstrip("\r\n")
        else:
            password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        with connection.transaction():
            set_password(connection, user, password)
    typer.echo(f"{user} can sign in with this password now.")


@account.command("admin")
def admin_command(
    user: UserArgument,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take it back.")] = False,
) -> None:
    """Let an account decide on sources and plans on the web pages.

    Example: orbit account admin mara
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.web.passwords import set_administrator

    with open_database(load_settings()) as connection:
        is_changed = set_administrator(connection, user, is_admin=not revoke)
    state = "is no administrator" if revoke else "is an administrator"
    typer.echo(f"{user} {state} now." if is_changed else f"{user} {state} already; nothing changed.")


@account.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the accounts: plan, sessions, pairs, chunks in memory.

    Example: orbit account list
    """
    from orbit_pipelines.building.overview import read_overview
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show, table
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection:
        people = read_overview(connection)
    if as_json:
        print_json([person.as_json() for person in people])
    elif not people:
        typer.echo("No accounts yet. Make one: orbit account add USER")
    else:
        counts = ("sessions", "pairs", "chunks")
        listed = table("user", "plan", *counts, numbers=counts, whole=["user"])
        for person in people:
            plan = f"{person.plan_key} (default)" if person.is_on_default_plan else person.plan_key
            listed.add_row(person.user_id, plan, *(f"{getattr(person, name):,}" for name in counts))
        show(listed)


@account.command("remove")
def remove(
    user: UserArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> None:
    """Delete an account with its whole history; the next build empties its memory.

    Example: orbit account remove mara --yes
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.history.accounts import delete_account, require_account
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection:
        require_account(connection, user)
        if not yes:
            typer.confirm(f"Delete {user} with every session, message and record?", abort=True, err=True)
        delete_account(connection, user)
    typer.echo(f"Deleted {user}. Memory follows at the next build: orbit build")
