"""The planner's statistics: PostgreSQL keeps sample values of columns there, also of rows that are gone."""

import polars as pl

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
    hashes = [each.hex() for each in sight.traces.hashes] if can_clear else []
    held = texts_with(pl.Series([row[1] for row in rows], dtype=pl.String), spellings(sight.traces.needles) + hashes)
    reservation = None if can_clear else "keyed hashes stay in them until tables are analyzed while they hold rows"
    return look([rows[row][0] for row in held.arg_true().to_list()], len(rows), reservation)
