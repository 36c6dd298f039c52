"""How assets show what they did: tables of counts, pictures, links. Ids, counts and names; never a message's text."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg
import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.lineage.charts import changes_chart, recent_builds
from orbit_pipelines.model import Mode

OWNERS = ["team:memory"]


def table(columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> dg.TableMetadataValue:
    """Return rows as a table.

    Args:
        columns: name → type (``string``, ``int``), in the order of the rows' values.
        rows: one tuple a row.
    """
    return dg.MetadataValue.table(
        records=[dg.TableRecord(dict(zip(columns, row, strict=True))) for row in rows],
        schema=dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns.items()]),
    )


def reasons_table(reasons: Mapping[str, Mapping[str, int]]) -> dg.TableMetadataValue:
    """Return action → reason → count as a table."""
    rows = [(action, reason, count) for action, each in reasons.items() for reason, count in each.items()]
    return table({"action": "string", "reason": "string", "count": "int"}, rows)


def table_schema(connection: psycopg.Connection[Any], name: str) -> dg.TableSchema:
    """Return the columns of a table of the database, with the comments they have there."""
    rows = connection.execute(statement("describe_table"), {"name": name})
    return dg.TableSchema(
        [
            dg.TableColumn(column, kind, description=comment, constraints=dg.TableColumnConstraints(nullable=nullable))
            for column, kind, nullable, comment in rows
        ]
    )


def recent_changes_picture(connection: psycopg.Connection[Any]) -> dg.MarkdownMetadataValue:
    """Return a plot of what the last builds added and removed."""
    png = base64.b64encode(changes_chart(recent_builds(connection))).decode()
    return dg.MetadataValue.md(f"![Chunks added and removed by the last builds](data:image/png;base64,{png})")


def scope_of(users: Iterable[str], mode: Mode, why_everything: str | None) -> dict[str, str]:
    """Return whom a build is for and how it takes them, in words."""
    people = ", ".join(users) or "everyone"
    return {"mode": mode.value, "people": people} | ({"taken whole because": why_everything} if why_everything else {})
