"""Commands that start and stop what runs in the background: `up`, `down`, `migrate`, `db-url`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orbit_pipelines.services.service import Service

app = typer.Typer()

PANEL = "Services"


@app.command("up", rich_help_panel=PANEL)
def up_command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the Dagster UI.")] = 3000,
    host: Annotated[str, typer.Option(help="Address the web servers listen on.")] = "127.0.0.1",
) -> None:
    """Run the Dagster UI and daemon in the foreground; Ctrl-C stops everything, PostgreSQL too.

    Example: orbit up --port 3100
    """
    from orbit_pipelines.database.server import server_status
    from orbit_pipelines.services.dagster import dagster_services
    from orbit_pipelines.services.up import logs_folder, up
    from orbit_pipelines.settings import load_settings

    settings = load_settings()
    typer.echo("Starting. Ctrl-C, or `orbit down` in another terminal, stops everything.")
    typer.echo(f"{'PostgreSQL':<16}{server_status(settings).address}")
    typer.echo(f"{'Logs':<16}{logs_folder(settings)}")
    up(settings, dagster_services(port, host=host), _announce)
    typer.echo("Stopped.")


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
    """Bring the database's tables up to date; make the database first where it is missing.

    Example: orbit migrate
    """
    from orbit_pipelines.database.schema import current_revision, migrate
    from orbit_pipelines.database.server import database_url
    from orbit_pipelines.settings import load_settings

    url = database_url(load_settings())
    before = current_revision(url)
    migrate(url)
    after = current_revision(url)
    typer.echo(f"The schema is up to date: {after}." if before == after else f"Schema: {before or 'empty'} → {after}.")


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
    typer.echo(f"{service.title:<16}{service.address.url if service.address else 'runs'}")
