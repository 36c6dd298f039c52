"""Migrations are plain SQL: each revision runs the .sql file of its own name."""

from pathlib import Path

from alembic import op
from psycopg import Connection


def run_statements(revision_file: str) -> None:
    """Run the .sql file beside a revision's module, in the migration's transaction.

    It goes to psycopg as it is, without parameters: several statements at once, and a percent sign is a percent sign.
    """
    connection = op.get_bind().connection.driver_connection
    if not isinstance(connection, Connection):
        raise TypeError(f"migrations run on psycopg 3, not on {type(connection).__name__}")
    connection.execute(Path(revision_file).with_suffix(".sql").read_bytes())
