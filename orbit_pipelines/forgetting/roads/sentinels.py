"""Sentinels: the forgotten texts themselves, looked for in every column of schema memory that could hold one."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from psycopg import sql

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.roads.own_words import is_own
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, place, spellings, texts_with

_KEYS = frozenset(
    (
        "user_id",
        "agent_id",
        "session_id",
        "message_id",
        "source_key",
        "source_id",
        "reply_message_ids",
        "model",
        "recipe",
    )
)
_BATCH = 10_000
_CHUNK = "memory.chunk"
_NAMES = ("agent_id", "session_id", "source_key", "source_id")


def look_at_texts(sight: Sight) -> Look:
    """Look for exact snippets in all of the person's rows, and in tables that are nobody's."""
    needles = sight.traces.needles
    if not needles:
        return look([], 0, "no text of the selection that has 12 characters is at hand to be looked for")
    spelled = spellings(needles) + [each.hex() for each in sight.traces.hashes]
    found: list[str] = []
    looked_at = 0
    for table, columns, names in _tables(sight):
        is_chunk = (table, columns) == (_CHUNK, ["content"])
        for keys, texts in _read(sight, table, columns, names):
            looked_at += len(texts)
            for row in texts_with(texts, spelled).arg_true().to_list():
                if not is_chunk or _is_left(sight, keys[row], str(texts[row])):
                    found.append(place(table, *keys[row]))
    return look(found, looked_at)


def _is_left(sight: Sight, key: tuple[Any, ...], content: str) -> bool:
    agent_id, session_id, source_key, source_id, _ = key
    if sight.is_selected(agent_id, session_id, source_key, source_id):
        return True
    return not is_own(sight.connection, sight.selection.user_id, (agent_id, source_key, source_id, session_id), content)


def _tables(sight: Sight) -> list[tuple[str, list[str], list[str]]]:
    """Return tables, the columns that are searched together, and the columns that name a row."""
    rows = sight.connection.execute(statement("list_text_columns")).fetchall()
    with_texts: list[tuple[str, list[str], list[str]]] = []
    for table, texts, numbers, names in rows:
        named = [name for name in ("user_id", *_NAMES) if name in names] + numbers
        columns = [name for name in texts if name not in _KEYS]
        if table == _CHUNK:
            # What a chunk says in its own right is only ever its content.
            with_texts.append((table, ["content"], named))
            columns.remove("content")
        if columns:
            with_texts.append((table, columns, named))
    return with_texts


def _read(
    sight: Sight, table: str, columns: list[str], named: list[str]
) -> Iterator[tuple[list[tuple[Any, ...]], pl.Series]]:
    """Yield batches of a table's rows: what names each, but for the person, and what it says, its columns joined."""
    said = [sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns]
    keys = [sql.Identifier(name) for name in named if name != "user_id"]
    whose = sql.SQL(" where user_id = %(user_id)s") if "user_id" in named else sql.SQL("")
    query = sql.SQL("select {} from {}{}").format(
        sql.SQL(", ").join([*keys, sql.SQL("concat_ws(chr(10), {})").format(sql.SQL(", ").join(said))]),
        sql.Identifier(*table.split(".")),
        whose,
    )
    with sight.connection.transaction(), sight.connection.cursor(name="sentinels") as cursor:
        cursor.execute(query, {"user_id": sight.selection.user_id})
        while rows := cursor.fetchmany(_BATCH):
            yield [tuple(row[:-1]) for row in rows], pl.Series([row[-1] for row in rows], dtype=pl.String)
