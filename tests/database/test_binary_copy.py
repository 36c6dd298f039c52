"""Frames go into PostgreSQL as they are, whatever their values."""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbit_pipelines.database.binary_copy import copy_frame, copy_frames
from orbit_pipelines.database.vectors import from_wire, to_wire

TYPES = {
    "text": "text",
    "number": "int4",
    "big": "int8",
    "truth": "bool",
    "bytes": "bytea",
    "moment": "timestamptz",
    "list": "text[]",
    "json": "jsonb",
}
SCHEMA = pl.Schema(
    {
        "text": pl.String(),
        "number": pl.Int32(),
        "big": pl.Int64(),
        "truth": pl.Boolean(),
        "bytes": pl.Binary(),
        "moment": pl.Datetime("us", "UTC"),
        "list": pl.List(pl.String()),
        "json": pl.String(),
    }
)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
rows = st.tuples(
    st.none() | words,
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.binary(max_size=20),
    st.none() | moments,
    st.none() | st.lists(words, max_size=3),
    st.none() | st.sampled_from(["[]", '{"a": 1}']),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(values=st.lists(rows, max_size=6))
def test_every_value_arrives_as_it_was(
    connection: psycopg.Connection[tuple[object, ...]], values: list[tuple[object, ...]]
) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    connection.execute("drop table if exists copied")
    connection.execute(f"create temp table copied (place serial, {columns})".encode())
    frame = pl.DataFrame(values, schema=SCHEMA, orient="row")
    assert copy_frame(connection, "copied", frame, TYPES) == len(values)
    stored = connection.execute(
        b"select text, number, big, truth, bytes, moment, list, json::text from copied order by place"
    ).fetchall()
    assert stored == values


def test_vectors_arrive_as_pgvector_would_have_stored_them(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    vectors = np.array([[0.5, -1.25, 0.1], [1e-3, 3.0, 0.0]], dtype="f4")
    connection.execute("create temp table copied (place int, embedding halfvec)")
    frame = pl.DataFrame({"place": [0, 1], "embedding": to_wire(vectors)})
    copy_frame(connection, "copied", frame, {"place": "int4", "embedding": "halfvec"})
    same = connection.execute(
        "select place, embedding = %s::halfvec, halfvec_send(embedding) from copied order by place",
        ["[0.5,-1.25,0.1]"],
    ).fetchall()
    assert [row[:2] for row in same] == [(0, True), (1, False)]
    back = from_wire(pl.Series([row[2] for row in same], dtype=pl.Binary))
    np.testing.assert_allclose(back, vectors, rtol=1e-3)


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 7])
def test_frames_arrive_in_order_whole(connection: psycopg.Connection[tuple[object, ...]], frames: int) -> None:
    connection.execute("create temp table counted (place serial, number int)")
    made = (pl.DataFrame({"number": [each, each]}) for each in range(frames))
    assert copy_frames(connection, "counted", made, {"number": "int4"}) == 2 * frames
    stored = connection.execute("select number from counted order by place").fetchall()
    assert [number for (number,) in stored] == [each for each in range(frames) for _ in range(2)]


@pytest.mark.parametrize("whole", [0, 1, 2, 4])
def test_a_frame_that_cant_be_made_leaves_nothing(
    connection: psycopg.Connection[tuple[object, ...]], whole: int
) -> None:
    connection.execute("create temp table kept (number int)")

    def failing() -> Iterator[pl.DataFrame]:
        for each in range(whole):
            yield pl.DataFrame({"number": [each]})
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"), connection.transaction():
        copy_frames(connection, "kept", failing(), {"number": "int4"})
    assert connection.execute("select count(*) from kept").fetchone() == (0,)
