"""Recalled memory cut out of texts, whole columns at a time. Pure."""

import polars as pl

from orbit_pipelines.history.recalled import BEGIN_PATTERN, END_PATTERN

DEEPEST = 4
"""How deep blocks may be nested and still be told from what stands between them."""

# Stored text holds no NUL, so that a marker written with one can't be anything else.
_BEGIN, _END = "\0b", "\0e"


def cut_recalled_blocks(messages: pl.DataFrame) -> pl.DataFrame:
    r"""Return ``messages`` with the blocks cut from ``content``, and the column ``is_recalled`` where there were some.

    What stood around a block is joined by a blank line, and loses the white space at its ends. In doubt more is cut:
    a block that isn't closed reaches to the end of its text, one that isn't opened begins where its text does.
    """
    marked_too = messages.with_columns(
        pl.col("content").str.contains(f"{BEGIN_PATTERN}|{END_PATTERN}").fill_null(value=False).alias("is_recalled")
    )
    if not marked_too["is_recalled"].any():
        return marked_too
    marked = pl.col("content").str.replace_all(BEGIN_PATTERN, _BEGIN).str.replace_all(END_PATTERN, _END)
    for _ in range(DEEPEST):
        marked = marked.str.replace_all(r"\s*\x00b[^\x00]*\x00e\s*", "\n\n")
    cut = marked.str.replace(r"(?s)^.*\x00e", "").str.replace(r"(?s)\x00b.*$", "").str.strip_chars()
    rows = marked_too.with_row_index("row")
    return (
        pl.concat([rows.filter(~pl.col("is_recalled")), rows.filter("is_recalled").with_columns(cut.alias("content"))])
        .sort("row")
        .drop("row")
    )
