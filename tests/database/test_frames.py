from typing import Any

import polars as pl
import psycopg
import pytest

from orbit_pipelines.database.frames import read_frame

SCHEMA = pl.Schema({"name": pl.String(), "ids": pl.List(pl.String()), "number": pl.Int64()})
LISTS = [["a", "b"], [], None, ['"', "\\", "é\n\x01", "日本", ""], [None]]


@pytest.mark.parametrize("lists", [LISTS, [], [None], [[]]], ids=["all kinds", "no rows", "null alone", "empty alone"])
def test_lists_come_as_they_are(connection: psycopg.Connection[Any], lists: list[Any]) -> None:
    connection.execute("create temporary table given (name text, ids text[], number bigint)")
    for number, ids in enumerate(lists):
        connection.execute("insert into given values ('x', %s::text[], %s)", [ids, number])
    frame = read_frame(connection, b"select name, to_json(ids)::text, number from given order by number", {}, SCHEMA)
    assert frame.schema == SCHEMA
    assert frame["ids"].to_list() == lists
