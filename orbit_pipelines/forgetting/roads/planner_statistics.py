"""The planner's statistics: PostgreSQL keeps sample values of columns there, also of rows that are gone."""

import polars as pl

from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with


def look_at_statistics(sight: Sight) -> Look:
    """Look for texts, hashes and vectors in what is kept of the columns of schema memory."""
    rows = sight.connection.execute(
        "select tablename || '.' || attname, concat_ws(chr(10), most_common_vals::text, histogram_bounds::text,"
        "       most_common_elems::text) from pg_stats where schemaname = 'memory'"
    ).fetchall()
    needles = spellings(sight.traces.needles) + [each.hex() for each in sight.traces.hashes]
    held = texts_with(pl.Series([row[1] for row in rows], dtype=pl.String), needles)
    return look([rows[row][0] for row in held.arg_true().to_list()], len(rows))
