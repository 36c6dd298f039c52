"""What a column holds arrives as an array, however long it is."""

from typing import Any

import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbit_pipelines.database.wire_arrays import FEW, WireArray, as_array

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
KINDS: list[tuple[Any, str, st.SearchStrategy[Any]]] = [
    (pl.String(), "text", words),
    (pl.Binary(), "bytea", st.binary(max_size=20)),
    (pl.Int64(), "bigint", st.integers(-(2**63), 2**63 - 1)),
    (pl.Int32(), "int", st.integers(-(2**31), 2**31 - 1)),
    (pl.Boolean(), "bool", st.booleans()),
]


@pytest.mark.parametrize(("dtype", "name", "values"), KINDS, ids=[name for _, name, _ in KINDS])
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_array_is_its_column(
    connection: psycopg.Connection[Any], dtype: Any, name: str, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    some = data.draw(st.lists(st.none() | values, max_size=30))
    times = data.draw(st.sampled_from([1, FEW]))
    column = pl.Series(some * times, dtype=dtype)
    sent = as_array(column)
    assert isinstance(sent, WireArray)
    query = (
        f"select coalesce(array_agg(item order by place), '{{}}'), %(sent)s::{name}[] = array_agg(item order by place)"
    )
    query += f" from unnest(%(sent)s::{name}[]) with ordinality as items (item, place)"
    received = connection.execute(query.encode(), {"sent": sent}).fetchone()
    assert received is not None
    assert received[0] == column.to_list()
    assert received[1] is not False


def test_a_slice_of_a_column_is_sent_without_the_rest(connection: psycopg.Connection[Any]) -> None:
    column = pl.Series([f"word {number}" for number in range(3 * FEW)]).slice(FEW, FEW)
    received = connection.execute("select %s::text[]", [as_array(column)]).fetchone()
    assert received == (column.to_list(),)


def test_what_has_no_form_is_a_list() -> None:
    column = pl.Series([["a"]] * FEW)
    assert as_array(column) == column.to_list()
