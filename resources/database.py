"""The orbit database, as assets, checks and sensors reach it."""

from typing import Any

import dagster as dg
import psycopg

from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.schema import require_current_schema
from orbit_pipelines.database.server import database_url
from orbit_pipelines.settings import load_settings


class MemoryDatabase(dg.ConfigurableResource):
    """PostgreSQL with the application's tables and memory.

    Which server that is, ``ORBIT_DATABASE_URL`` says. It is no field: Dagster would show a password in its UI.
    """

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection in autocommit; the caller closes it.

        Raises:
            DatabaseUnavailable: no server answers, or it is too old.
            SchemaMismatch: its tables are absent, older or newer; the message names what to run.
        """
        connection = connect(database_url(load_settings()), autocommit=True, application_name="orbit-dagster")
        try:
            require_current_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection
