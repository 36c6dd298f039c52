"""The SQL of orbit_pipelines/sql, one statement a file, by name."""

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> bytes:
    """Return the statement of ``sql/<name>.sql``, as bytes: psycopg takes those as trusted text."""
    return files("orbit_pipelines").joinpath("sql", f"{name}.sql").read_bytes()
