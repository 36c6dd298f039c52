"""Which PostgreSQL this installation uses, ready to be connected to: the embedded one, or one of the user's own.

Two databases on it: ``orbit`` (or whatever ORBIT_DATABASE_URL names) for the application's data and memory,
``dagster`` for Dagster's runs and events.
"""

from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow
from pydantic import SecretStr
from sqlalchemy import URL
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from orbit_pipelines.dagster_home import prepare_dagster_home
from orbit_pipelines.database import embedded
from orbit_pipelines.database.connection import beside, connect, describe, parse_url
from orbit_pipelines.database.embedded import EmbeddedServer
from orbit_pipelines.errors import DatabaseUnavailable, OutOfSpace
from orbit_pipelines.settings import Settings

ORBIT_DATABASE = "orbit"
DAGSTER_DATABASE = "dagster"
NOT_RUNNING = "not running"
OLDEST_POSTGRESQL = 15
OLDEST_PGVECTOR = (0, 8)

PostgresConnection = psycopg.Connection[TupleRow]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of the server without starting it. ``problem`` is None when it can be used.

    ``NOT_RUNNING`` is no trouble: whatever needs the embedded server starts it.
    """

    is_embedded: bool
    address: str
    data: Path | None = None
    version: str | None = None
    pgvector: str | None = None
    problem: str | None = None


def database_url(settings: Settings) -> str:
    """Return the URL of the orbit database, on a server that answers and can hold it.

    Starts the embedded server where it isn't running, and makes the database where it is missing.

    Raises:
        DatabaseUnavailable: no server answers, it is too old, lacks pgvector, or may not make the database.
        OutOfSpace: the disk is full.
    """
    if settings.database_url is not None:
        url = settings.database_url
    else:
        server = embedded_server(settings)
        embedded.start(server)
        url = server.url(ORBIT_DATABASE)
    with _connect_or_create(url) as connection:
        _require_postgresql(connection, url)
        _require_pgvector(connection, url)
    return url


def dagster_storage_url(settings: Settings) -> str:
    """Return the URL of Dagster's database in the form that dagster-postgres wants; make the database if missing.

    Dagster needs psycopg2: with a plain ``postgresql://`` SQLAlchemy takes psycopg 3, and every run dies at a NOTIFY.
    """
    if settings.dagster_database_url is not None:
        return _for_psycopg2(settings.dagster_database_url)
    orbit_url = database_url(settings)
    with connect(orbit_url, autocommit=True) as connection:
        _create_if_missing(connection, DAGSTER_DATABASE)
    return _for_psycopg2(beside(orbit_url, DAGSTER_DATABASE))


def child_environment(settings: Settings) -> dict[str, str]:
    """Return what to add to a child process's environment, so that it works on this installation and this server.

    Whatever was set in these settings travels along. The server is started here, once: children find its URL.
    """
    given = {f"ORBIT_{name.upper()}": _as_text(getattr(settings, name)) for name in settings.model_fields_set}
    return {name: text for name, text in given.items() if text is not None} | {
        "ORBIT_HOME": str(settings.home),
        "ORBIT_DATABASE_URL": database_url(settings),
        "ORBIT_DAGSTER_URL": dagster_storage_url(settings),
        "DAGSTER_HOME": str(prepare_dagster_home(settings)),
    }


def stop_server(settings: Settings) -> bool:
    """Stop this installation's embedded server if it runs, and tell whether it did; never one of the user's own."""
    return embedded.stop(embedded_server(settings))


def server_status(settings: Settings) -> ServerStatus:
    """Look at the server as it is: starts nothing, makes nothing, raises nothing."""
    server = embedded_server(settings)
    is_embedded = settings.database_url is None
    url = settings.database_url or server.url(ORBIT_DATABASE)
    data = server.data if is_embedded else None
    address = describe(url)
    try:
        if is_embedded and not embedded.answers(server):
            embedded.require_possible(server)
            return ServerStatus(is_embedded, address, data, problem=NOT_RUNNING)
        with connect(url) as connection:
            version = connection.info.parameter_status("server_version")
            pgvector = _pgvector_versions(connection)[0]
            _require_postgresql(connection, url)
            _require_pgvector(connection, url)
    except (DatabaseUnavailable, OutOfSpace) as error:
        return ServerStatus(is_embedded, address, data, problem=str(error))
    return ServerStatus(is_embedded, address, data, version, pgvector)


def embedded_server(settings: Settings) -> EmbeddedServer:
    """Return the embedded server of this installation, running or not."""
    return EmbeddedServer(settings.home.resolve() / "postgres")


def _connect_or_create(url: str) -> PostgresConnection:
    database = parse_url(url).get("dbname")
    try:
        return connect(url)
    except DatabaseUnavailable:
        # libpq gives no code for "no such database", so ask the server through its maintenance database.
        try:
            maintenance = connect(beside(url, "postgres"), autocommit=True)
        except DatabaseUnavailable:
            maintenance = None
        if maintenance is None or database is None:
            raise
        with maintenance:
            # Another process may have made it since; if it was there all along, connecting says again what is wrong.
            _create_if_missing(maintenance, str(database))
    return connect(url)


@retry(
    retry=retry_if_exception_type(psycopg.errors.ObjectInUse),  # two processes copy template0 at once
    stop=stop_after_attempt(8),
    wait=wait_random_exponential(multiplier=0.1, max=2),
    reraise=True,
)
def _create_if_missing(connection: PostgresConnection, database: str) -> bool:
    """Make a database in UTF-8, ordered by code point; tell whether it was missing."""
    if connection.execute("select from pg_database where datname = %s", [database]).fetchone() is not None:
        return False
    command = _creation(connection, database)
    try:
        connection.execute(command)
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        pass  # another process was faster
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseUnavailable(
            f"The database {database!r} is missing, and {connection.info.user!r} may not create it. As someone who "
            f"may, run: {command.as_string(connection)} owner {sql.Identifier(connection.info.user).as_string()};"
        ) from error
    except psycopg.errors.DiskFull as error:
        raise OutOfSpace(
            f"The disk of the PostgreSQL server is full: the database {database!r} can't be created. Free some space."
        ) from error
    return True


def _creation(connection: PostgresConnection, database: str) -> sql.Composed:
    """Return the command, with a locale that every platform of that version has and that knows lower('É')."""
    if connection.info.server_version >= 170000:
        locale = "locale_provider builtin builtin_locale 'C.UTF-8' lc_collate 'C' lc_ctype 'C'"
    else:
        locale = "locale 'C.UTF-8'"
    options = sql.SQL("template template0 encoding 'UTF8'") + sql.SQL(" ") + sql.SQL(locale)
    return sql.SQL("create database {} {}").format(sql.Identifier(database), options)


def _require_postgresql(connection: PostgresConnection, url: str) -> None:
    if connection.info.server_version < OLDEST_POSTGRESQL * 10000:
        raise DatabaseUnavailable(
            f"PostgreSQL {connection.info.parameter_status('server_version')} at {describe(url)} is too old: "
            f"{OLDEST_POSTGRESQL} or newer is needed. Upgrade it, or unset ORBIT_DATABASE_URL to use the embedded one."
        )


def _require_pgvector(connection: PostgresConnection, url: str) -> None:
    installed, available = _pgvector_versions(connection)
    oldest = ".".join(map(str, OLDEST_PGVECTOR))
    found = installed or available
    if found is None:
        raise DatabaseUnavailable(
            f"The PostgreSQL server at {describe(url)} has no pgvector: {oldest} or newer is needed. Install it on the "
            "server, or unset ORBIT_DATABASE_URL to use the embedded one."
        )
    if _numbers(found) < OLDEST_PGVECTOR:
        remedy = "Run: alter extension vector update;" if _is_newer(available, installed) else "Upgrade it."
        raise DatabaseUnavailable(
            f"pgvector {found} at {describe(url)} is too old: {oldest} or newer is needed. {remedy}"
        )


def _pgvector_versions(connection: PostgresConnection) -> tuple[str | None, str | None]:
    """Return the version installed in the database, and the one the server could install."""
    row = connection.execute(
        "select installed_version, default_version from pg_available_extensions where name = 'vector'"
    ).fetchone()
    return (row[0], row[1]) if row else (None, None)


def _is_newer(available: str | None, installed: str | None) -> bool:
    return available is not None and installed is not None and _numbers(available) > _numbers(installed)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _for_psycopg2(url: str) -> str:
    """Return a libpq URL or connection string as an SQLAlchemy URL; a socket's folder goes into the query."""
    given = parse_url(url.replace("postgresql+psycopg2://", "postgresql://", 1))
    host, port = given.pop("host", None), given.pop("port", None)
    is_plain = host is not None and not host.startswith("/") and "," not in host
    if not is_plain:
        given |= {"host": host, "port": port}
    return URL.create(
        "postgresql+psycopg2",
        username=given.pop("user", None),
        password=given.pop("password", None),
        host=host if is_plain else None,
        port=int(port) if is_plain and port else None,
        database=given.pop("dbname", None),
        query={name: str(value) for name, value in given.items() if value is not None},
    ).render_as_string(hide_password=False)


def _as_text(value: object) -> str | None:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return None if value is None else str(value)
