"""Documentation pages whose answers are run, not typed: each sql block is followed by its output as a table."""

import re
from pathlib import Path

import duckdb
import polars as pl

from orbit_pipelines.lineage.views import FILE_NAME

_BLOCK = re.compile(r"```sql\n(?P<sql>.*?)```\n(?:\n(?:\|[^\n]*\n)+)?", re.DOTALL)


def queries(page: str) -> list[str]:
    """Return a page's sql blocks, in order."""
    return [block["sql"] for block in _BLOCK.finditer(page)]


def run_query(folder: Path, sql: str) -> pl.DataFrame:
    """Run one query on a lineage folder's views; times are in UTC."""
    with duckdb.connect(folder / FILE_NAME, read_only=True) as database:
        database.execute("set timezone = 'UTC'")
        return pl.DataFrame(database.sql(sql).to_arrow_table())


def refresh(page: str, folder: Path) -> str:
    """Return the page with the table under each sql block replaced by what a lineage folder answers."""

    def answered(block: re.Match[str]) -> str:
        return f"```sql\n{block['sql']}```\n\n{_markdown(run_query(folder, block['sql']))}\n"

    return _BLOCK.sub(answered, page)


def _markdown(answer: pl.DataFrame) -> str:
    times = answer.select(pl.selectors.datetime()).columns
    shown = answer.with_columns(pl.col(times).dt.strftime("%Y-%m-%d %H:%M"))
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=1000,
        fmt_str_lengths=200,
    ):
        return str(shown)
