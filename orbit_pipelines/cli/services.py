"""Commands that start and stop what runs in the background, and look after its database.

`up`, `down`, `web`, `migrate`, `roles`, `db-url`.
"""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from orbit_pipelines.cli.options import AsJson

if TYPE_CHECKING:
    from orbit_pipelines.services.service import Service

app = typer.Typer()

PANEL = "Services"


@app.command("up", rich_help_panel=PANEL)
def up_command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the Dagster UI.")] = 3000,
    web_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web pages.")] = 8000,
    host: Annotated[str, typer.Option(help="Address the web servers listen on.")] = "127.0.0.1",
) -> None:
    """Run the web pages, the Dagster UI and daemon in the foreground; Ctrl-C stops everything, PostgreSQL too.

    Example: orbit up --port 3100
    """
    from orbit_pipelines.database.server import server_status
    from orbit_pipelines.services.dagster import dagster_services
    from orbit_pipelines.services.up import logs_folder, up
    from orbit_pipelines.services.web import web_service
    from orbit_pipelines.settings import load_settings

    settings = load_settings()

    def begin() -> None:
        typer.echo("Starting. Ctrl-C, or `orbit down` in another terminal, stops everything.")
        typer.echo(f"{'PostgreSQL':<16}{server_status(settings).address}")
        typer.echo(f"{'Logs':<16}{logs_folder(settings)}")

    up(settings, (web_service(web_port, host=host), *dagster_services(port, host=host)), _announce, begin)
    typer.echo("Stopped.")


@app.command("web", rich_help_panel=PANEL)
def web_command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web pages.")] = 8000,
    host: Annotated[str, typer.Option(help="Address they listen on.")] = "127.0.0.1",
) -> None:
    """Run the web pages alone in the foreground, beside a database that runs.

    Example: orbit web --port 8100
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.database.server import database_url
    from orbit_pipelines.settings import load_settings
    from orbit_pipelines.web.server import serve

    settings = load_settings()
    with open_database(settings):
        url = database_url(settings)
    typer.echo(f"Web pages: http://{host}:{port}  (Ctrl-C stops them)")
    serve(settings, url, host, port)


@app.command("down", rich_help_panel=PANEL)
def down_command() -> None:
    """Stop a running `orbit up`, and the embedded PostgreSQL.

    Example: orbit down
    """
    from orbit_pipelines.services.up import down
    from orbit_pipelines.settings import load_settings

    stopped = down(load_settings())
    if stopped.up is not None:
        typer.echo(f"Stopped `orbit up`, process {stopped.up}.")
    if stopped.server:
        typer.echo("Stopped the embedded PostgreSQL.")
    if stopped.up is None and not stopped.server:
        typer.echo("Nothing runs.")


@app.command("migrate", rich_help_panel=PANEL)
def migrate_command() -> None:
    """Bring the database's tables, roles and grants up to date; make the database first where it is missing.

    Example: orbit migrate
    """
    from orbit_pipelines.cli.output import remark
    from orbit_pipelines.database.migrating import migrate
    from orbit_pipelines.database.schema import current_revision
    from orbit_pipelines.database.server import database_url
    from orbit_pipelines.settings import load_settings

    url = database_url(load_settings())
    before = current_revision(url)
    for_administrator = migrate(url)
    after = current_revision(url)
    typer.echo(f"The schema is up to date: {after}." if before == after else f"Schema: {before or 'empty'} → {after}.")
    if for_administrator:
        remark(
            "The database works, but its roles are missing, and making them takes an administrator. Have one run this "
            "on the server, and run `orbit migrate` again:\n"
        )
        remark("\n".join(for_administrator))


@app.command("roles", rich_help_panel=PANEL)
def roles_command(
    as_sql: Annotated[
        bool, typer.Option("--sql", help="Print what an administrator must run before `orbit migrate` can make them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the database's roles and who is in them.

    Example: orbit roles
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show, table
    from orbit_pipelines.database.roles import administrator_statements, read_role_statuses
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection:
        roles = read_role_statuses(connection)
        for_administrator = administrator_statements(connection)
    if as_sql:
        if for_administrator:
            typer.echo("\n".join(for_administrator))
        return
    if as_json:
        print_json([asdict(role) for role in roles])
        return
    listed = table("for", "role", "there", "members", whole=["role"])
    for role in roles:
        listed.add_row(role.kind, role.role_name, "yes" if role.exists else "no", ", ".join(role.members))
    show(listed)
    if not all(role.exists for role in roles):
        show("Make them with: orbit migrate")


@app.command("db-url", rich_help_panel=PANEL)
def db_url_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print all URLs as one JSON object.")] = False,
) -> None:
    """Print the database's URL, starting the embedded server where it isn't running.

    Example: psql "$(orbit db-url)"
    """
    from orbit_pipelines.database.server import dagster_storage_url, database_url
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    url = database_url(settings)
    if as_json:
        typer.echo(json.dumps({"orbit": url, "dagster": dagster_storage_url(settings)}))
    else:
        typer.echo(url)


def _announce(service: "Service") -> None:
    from orbit_pipelines.cli.output import command_name

    typer.echo(f"{service.title:<16}{service.address.url if service.address else 'runs'}")
    if service.name == "web":
        typer.echo(f"{'':<16}An account that is there already signs in once it has a password, the sample's too:")
        typer.echo(f"{'':<16}{command_name()} account password USER")
