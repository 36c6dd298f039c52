"""The planner's statistics: PostgreSQL keeps sample values of columns there, also of rows that are gone."""

import polars as pl

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.physical.rewriting import CAN_CLEAR_STATISTICS
from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with


def look_at_statistics(sight: Sight) -> Look:
    """Look for texts, hashes and vectors in what is kept of the columns of schema memory."""
    rows = sight.connection.execute(
        "select tablename || '.' || attname, concat_ws(chr(10), most_common_vals::text, histogram_bounds::text,"
        "       most_common_elems::text) from pg_stats where schemaname = 'memory'"
    ).fetchall()
    # Before that version a hash stays until the table is analyzed while it holds rows; nobody can do anything about it.
    can_clear = sight.connection.info.server_version >= CAN_CLEAR_STATISTICS
    hashes = sight.traces.hashes if can_clear else frozenset()
    samples = pl.Series([row[1] for row in rows], dtype=pl.String)
    held = _samples_with(samples, sight, hashes)
    if held and hashes:
        # Only then, because it reads the tables: what rows that stay have may stand in their statistics.
        held = _samples_with(samples, sight, hashes - _live(sight, hashes))
    reservation = None if can_clear else "keyed hashes stay in them until tables are analyzed while they hold rows"
    return look([rows[row][0] for row in held], len(rows), reservation)


def _samples_with(samples: pl.Series, sight: Sight, hashes: frozenset[bytes]) -> list[int]:
    needles = spellings(sight.traces.needles) + [each.hex() for each in hashes]
    return texts_with(samples, needles).arg_true().to_list()


def _live(sight: Sight, hashes: frozenset[bytes]) -> frozenset[bytes]:
    rows = sight.connection.execute(statement("find_live_hashes"), {"hashes": list(hashes)})
    return frozenset(bytes(row[0]) for row in rows)
