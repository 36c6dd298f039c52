"""Sentinels: the forgotten texts themselves, looked for in every column of schema memory that could hold one."""

from collections.abc import Iterator

import polars as pl
from psycopg import sql

from orbit_pipelines.forgetting.roads.own_words import is_own
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with

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
_CHUNK_KEY = ("agent_id", "source_key", "source_id", "session_id")


def look_at_texts(sight: Sight) -> Look:
    """Look for exact snippets in all of the person's rows, and in tables that are nobody's."""
    needles = sight.traces.needles
    if not needles:
        return look([], 0, "the selected sessions hold no text of 12 characters that could be looked for")
    spelled = spellings(needles)
    found: list[str] = []
    looked_at = 0
    for table, columns, is_of_people in _tables(sight):
        is_chunk = (table, columns) == (_CHUNK, ["content"])
        for keys, texts in _read(sight, table, columns, is_of_people=is_of_people, is_chunk=is_chunk):
            looked_at += len(texts)
            for row in texts_with(texts, spelled).arg_true().to_list():
                if not is_chunk or _is_left(sight, keys[row], str(texts[row])):
                    found.append(table)
    return look(found, looked_at)


def _is_left(sight: Sight, key: tuple[str, ...], content: str) -> bool:
    agent_id, source_key, source_id, session_id = key
    if sight.is_selected(agent_id, session_id, source_key, source_id):
        return True
    return not is_own(sight.connection, sight.selection.user_id, (agent_id, source_key, source_id, session_id), content)


def _tables(sight: Sight) -> list[tuple[str, list[str], bool]]:
    rows = sight.connection.execute(
        "select 'memory.' || relation.relname, array_agg(attribute.attname::text order by attribute.attnum),"
        "       bool_or(attribute.attname = 'user_id')"
        "  from pg_class as relation join pg_attribute as attribute on attribute.attrelid = relation.oid"
        " where relation.relnamespace = 'memory'::regnamespace and relation.relkind in ('r', 'p')"
        "   and not relation.relispartition and attribute.attnum > 0 and not attribute.attisdropped"
        "   and (attribute.attname = 'user_id' or attribute.atttypid in ('text'::regtype, 'varchar'::regtype,"
        "        'json'::regtype, 'jsonb'::regtype, 'text[]'::regtype, 'varchar[]'::regtype))"
        " group by 1 order by 1"
    )
    with_texts: list[tuple[str, list[str], bool]] = []
    for table, names, is_of_people in rows:
        columns = [name for name in names if name not in _KEYS]
        if table == _CHUNK:
            # What a chunk says in its own right is only ever its content.
            with_texts.append((table, ["content"], is_of_people))
            columns.remove("content")
        if columns:
            with_texts.append((table, columns, is_of_people))
    return with_texts


def _read(
    sight: Sight, table: str, columns: list[str], *, is_of_people: bool, is_chunk: bool
) -> Iterator[tuple[list[tuple[str, ...]], pl.Series]]:
    """Yield batches of a table's rows: the keys of chunks, and what each row says, its columns joined."""
    said = [sql.SQL("{}::text").format(sql.Identifier(name)) for name in columns]
    keys = [sql.Identifier(name) for name in _CHUNK_KEY] if is_chunk else [sql.SQL("''")]
    whose = sql.SQL(" where user_id = %(user_id)s") if is_of_people else sql.SQL("")
    query = sql.SQL("select {}, concat_ws(chr(10), {}) from {}{}").format(
        sql.SQL(", ").join(keys), sql.SQL(", ").join(said), sql.Identifier(*table.split(".")), whose
    )
    with sight.connection.transaction(), sight.connection.cursor(name="sentinels") as cursor:
        cursor.execute(query, {"user_id": sight.selection.user_id})
        while rows := cursor.fetchmany(_BATCH):
            yield [tuple(row[:-1]) for row in rows], pl.Series([row[-1] for row in rows], dtype=pl.String)
