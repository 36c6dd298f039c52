"""Dagster's event log: every text of every table of its database."""

from typing import Any

import polars as pl
import psycopg
from psycopg import sql

from orbit_pipelines.database.connection import beside, connect
from orbit_pipelines.database.server import DAGSTER_DATABASE, ORBIT_DATABASE, embedded_server
from orbit_pipelines.errors import DatabaseUnavailable
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with

_BATCH = 2_000


def look_at_event_log(sight: Sight) -> Look:
    """Look for exact snippets in runs, events, asset keys, ticks and whatever else Dagster keeps."""
    needles = spellings(sight.traces.needles)
    try:
        connection = connect(_url(sight), autocommit=True)
    except DatabaseUnavailable as error:
        return look([], 0, f"Dagster's database can't be read: {error}")
    found: list[str] = []
    looked_at = 0
    with connection:
        for schema, table, columns in _tables(connection):
            said = [sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns]
            query = sql.SQL("select concat_ws(chr(10), {}) from {}").format(
                sql.SQL(", ").join(said), sql.Identifier(schema, table)
            )
            with connection.transaction(), connection.cursor(name="events") as cursor:
                cursor.execute(query)
                while rows := cursor.fetchmany(_BATCH):
                    looked_at += len(rows)
                    texts = pl.Series([row[0] for row in rows], dtype=pl.String)
                    found += [table] * int(texts_with(texts, needles).sum())
    return look(found, looked_at)


def _url(sight: Sight) -> str:
    given = sight.settings.dagster_database_url
    if given is not None:
        return given.replace("postgresql+psycopg2://", "postgresql://", 1)
    settings = sight.settings
    return beside(settings.database_url or embedded_server(settings).url(ORBIT_DATABASE), DAGSTER_DATABASE)


def _tables(connection: psycopg.Connection[Any]) -> list[tuple[str, str, list[str]]]:
    return connection.execute(
        "select namespace.nspname, relation.relname, array_agg(attribute.attname::text)"
        "  from pg_class as relation join pg_namespace as namespace on namespace.oid = relation.relnamespace"
        "  join pg_attribute as attribute on attribute.attrelid = relation.oid"
        " where relation.relkind in ('r', 'p') and not relation.relispartition and attribute.attnum > 0"
        "   and not attribute.attisdropped and namespace.nspname not in ('pg_catalog', 'information_schema')"
        "   and attribute.atttypid in ('text'::regtype, 'varchar'::regtype, 'json'::regtype, 'jsonb'::regtype)"
        " group by 1, 2 order by 1, 2"
    ).fetchall()
