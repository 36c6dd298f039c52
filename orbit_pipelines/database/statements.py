"""The SQL of orbit_pipelines/sql, one statement a file, by name; what several have in common stands in its parts."""

import re
from functools import cache
from importlib.resources import files

_PART = re.compile(rb"\{\{(\w+)\}\}")
"""``{{name}}`` stands for ``sql/parts/name.sql``, a piece of a statement such as a query of its with clause."""


@cache
def statement(name: str) -> bytes:
    """Return the statement of ``sql/<name>.sql`` with its parts, as bytes: psycopg takes those as trusted text."""
    return _PART.sub(lambda part: _read("parts", part[1].decode()), _read(name))


def _read(*names: str) -> bytes:
    *folders, name = names
    return files("orbit_pipelines").joinpath("sql", *folders, f"{name}.sql").read_bytes().rstrip()
