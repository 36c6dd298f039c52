"""Hashes: the keyed hashes of forgotten texts, in every column of schema memory that could hold one as bytes.

A hash tells its text exactly. So a row of another session may have a forgotten one only if it is that text's: a chunk
that says it, a cached vector of such a chunk, a change that made it what it is.
"""

from typing import Any

from psycopg import sql

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.roads.sight import Sight, place

_CHUNK, _CHANGE = "memory.chunk", "memory.change"


def find_hashes(sight: Sight) -> list[str]:
    """Return the places of hashes that nothing explains.

    What earlier versions of other sessions' texts were isn't kept; a hash that lineage has of one is left alone.
    """
    if not sight.traces.hashes:
        return []
    found = _in_chunks(sight)
    rows = sight.connection.execute(statement("find_stray_change_hashes"), _parameters(sight)).fetchall()
    found += [place(f"{_CHANGE}, by hash", *row) for row in rows if not sight.is_selected(row[0], None, *row[1:3])]
    for table, columns in _tables(sight):
        for column in columns:
            if (table, column) not in ((_CHUNK, "content_hash"), (_CHANGE, "content_hash")):
                found += [f"{table}, by hash"] * _count(sight, table, column, columns)
    return found


def _in_chunks(sight: Sight) -> list[str]:
    rows = sight.connection.execute(
        "select agent_id, session_id, source_key, source_id, chunk_index, content from memory.chunk"
        " where user_id = %(user_id)s and content_hash = any(%(hashes)s)",
        _parameters(sight),
    ).fetchall()
    said = set(sight.traces.contents)
    return [
        place(f"{_CHUNK}, by hash", agent_id, source_key, source_id, chunk_index)
        for agent_id, session_id, source_key, source_id, chunk_index, content in rows
        if content not in said and not sight.is_selected(agent_id, session_id, source_key, source_id)
    ]


def _tables(sight: Sight) -> list[tuple[str, list[str]]]:
    return sight.connection.execute(
        "select 'memory.' || relation.relname, array_agg(attribute.attname::text)"
        "  from pg_class as relation join pg_attribute as attribute on attribute.attrelid = relation.oid"
        " where relation.relnamespace = 'memory'::regnamespace and relation.relkind in ('r', 'p', 'm')"
        "   and not relation.relispartition and attribute.attnum > 0 and not attribute.attisdropped"
        "   and (attribute.atttypid = 'bytea'::regtype or attribute.attname in ('user_id', 'agent_id'))"
        " group by 1 having bool_or(attribute.atttypid = 'bytea'::regtype) order by 1"
    ).fetchall()


def _count(sight: Sight, table: str, column: str, columns: list[str]) -> int:
    """Count rows with a hash of a forgotten text; a ``content_hash`` is explained by a chunk that has it too."""
    if column in ("user_id", "agent_id"):
        return 0
    conditions: list[sql.Composable] = [sql.SQL("held.{} = any(%(hashes)s)").format(sql.Identifier(column))]
    if "user_id" in columns:
        conditions.append(sql.SQL("held.user_id = %(user_id)s"))
    if "agent_id" in columns:
        conditions.append(sql.SQL("held.agent_id = any(%(agents)s)"))
    if column == "content_hash" and {"user_id", "agent_id"} <= set(columns):
        conditions.append(
            sql.SQL(
                "not exists (select from memory.chunk as kept"
                "             where (kept.user_id, kept.agent_id, kept.content_hash)"
                "                 = (held.user_id, held.agent_id, held.content_hash))"
            )
        )
    query = sql.SQL("select count(*) from {} as held where {}").format(
        sql.Identifier(*table.split(".")), sql.SQL(" and ").join(conditions)
    )
    row = sight.connection.execute(query, _parameters(sight)).fetchone()
    return int(row[0]) if row else 0


def _parameters(sight: Sight) -> dict[str, Any]:
    return {**sight.selection.parameters(), "hashes": list(sight.traces.hashes)}
