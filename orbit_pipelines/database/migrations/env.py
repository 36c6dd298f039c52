"""What alembic runs around the migrations: one transaction, one process at a time."""

from alembic import context
from sqlalchemy import Connection, text

# Not alembic's usual name: a host application may keep its own alembic table in the same database.
VERSION_TABLE = "orbit_schema_version"

connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table=VERSION_TABLE, version_table_schema="public")
with context.begin_transaction():
    # Whoever comes second waits, then reads the first one's result and finds nothing to do.
    connection.execute(text("select pg_advisory_xact_lock(hashtextextended('orbit schema migration', 0))"))
    context.run_migrations()
