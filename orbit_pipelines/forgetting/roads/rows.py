"""Rows: every table of schema memory, found from the catalog, by the keys of the selected sessions and records.

A table that is not known here holds derived data until somebody says otherwise: any row of the selection in it counts.
"""

from typing import Any

from psycopg import sql

from orbit_pipelines.forgetting.roads.hashes import find_hashes
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, place

KEYS = ("agent_id", "session_id", "source_key", "source_id")

MAY_REMAIN = {
    "memory.tombstone": "what keeps the sessions out",
    "memory.forgotten_record": "the same of records",
    "memory.former_session": "what sessions were called before, by which a forget finds them",
    "memory.former_record": "the same of records",
    "memory.former_account": "the same of accounts",
    "memory.account_tombstone": "what keeps an account's sessions out, under a keyed hash",
    "memory.account_forgotten_record": "the same of records",
    "memory.forget": "the receipts",
    "memory.pair": "the numbers of pairs are never reused",
    "memory.skipped": "ids and reasons: lineage of what stayed out",
    "memory.source_status": "what a person's plan said",
    "memory.store": "the revision that forgets raise",
}
"""Tables whose rows of the selection may stay, and why; of ``memory.change`` they may without their hash."""


def look_at_rows(sight: Sight) -> Look:
    """Look for rows that name the selected sessions or records, and for hashes of their texts."""
    found: list[str] = []
    looked_at = 0
    for table, columns in _tables(sight):
        is_lineage = table == "memory.change"
        if "user_id" in columns and table not in MAY_REMAIN and any(key in columns for key in KEYS[1:]):
            for values, has_hash, count in _rows(sight, table, columns):
                looked_at += count
                if sight.is_selected(*values) and (has_hash or not is_lineage):
                    found += [place(table, *values)] * count
    return look([*found, *find_hashes(sight)], looked_at)


def _tables(sight: Sight) -> list[tuple[str, frozenset[str]]]:
    rows = sight.connection.execute(
        "select 'memory.' || relation.relname, array_agg(attribute.attname::text)"
        "  from pg_class as relation join pg_attribute as attribute on attribute.attrelid = relation.oid"
        " where relation.relnamespace = 'memory'::regnamespace and relation.relkind in ('r', 'p')"
        "   and not relation.relispartition and attribute.attnum > 0 and not attribute.attisdropped"
        " group by 1 order by 1"
    )
    return [(table, frozenset(columns)) for table, columns in rows]


def _rows(sight: Sight, table: str, columns: frozenset[str]) -> list[tuple[tuple[Any, ...], bool, int]]:
    """Return the distinct keys of the person's rows, whether these have a hash, and how many rows there are."""
    given = [sql.Identifier(key) if key in columns else sql.NULL for key in KEYS]
    has_hash = sql.SQL("content_hash is not null" if "content_hash" in columns else "true")
    query = sql.SQL("select {}, {}, {}, {}, {}, count(*) from {} where user_id = %s group by 1, 2, 3, 4, 5").format(
        *given, has_hash, sql.Identifier(*table.split("."))
    )
    rows = sight.connection.execute(query, [sight.selection.user_id]).fetchall()
    return [(tuple(row[:4]), bool(row[4]), int(row[5])) for row in rows]
