import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.forgetting.physical.needles import (
    NeedleKind,
    literal_start,
    make_needles,
    numbers_of,
    pglz_start,
    text_needles,
    vector_needles,
)
from orbit_pipelines.forgetting.traces import Traces

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)


@given(TEXT)
def test_what_is_looked_for_of_a_text_stands_in_it(text: str) -> None:
    assert all(needle in text.encode() for needle in text_needles(text, is_compressed=False))
    assert all(needle.replace(b"\0", b"") in text.encode() for needle in text_needles(text, is_compressed=True))
    assert bool(text_needles(text, is_compressed=False)) == (len(text.encode()) >= 12)


@given(st.binary(max_size=100), st.integers(3, 4))
def test_a_literal_beginning_repeats_nothing(data: bytes, repeats: int) -> None:
    start = literal_start(data, repeats)

    if start is not None:
        assert data.startswith(start)
        grams = [start[at : at + repeats] for at in range(len(start) - repeats + 1)]
        assert len(grams) == len(set(grams))


def test_pglz_writes_eight_bytes_after_each_byte_of_flags() -> None:
    assert pglz_start(b"abcdefghijklmnopqrs") == b"\0abcdefgh\0ijklmnop"
    assert pglz_start(b"abcabcabcabcabcabcabc") is None


def test_a_compressed_text_that_repeats_itself_cannot_be_looked_for() -> None:
    assert text_needles("tick tock " * 300, is_compressed=True) == ()


def test_a_vector_is_stored_little_endian() -> None:
    [wire] = to_wire(np.array([[1.0, -2.0, 0.5, 0.25]], dtype="f4"))

    assert vector_needles(wire) == (struct.pack("<hh4e", 4, 0, 1.0, -2.0, 0.5, 0.25),)


def test_needles_tell_what_cannot_be_looked_for() -> None:
    traces = Traces(
        contents=("A text of some length.", "tick tock " * 300, "ok"),
        hashes=frozenset({b"h" * 32}),
        vectors=(bytes(8),),
        compressed=frozenset({"tick tock " * 300}),
    )

    needles = make_needles(traces)

    assert needles.wanted == {NeedleKind.TEXT: 3, NeedleKind.HASH: 1, NeedleKind.VECTOR: 1}
    assert needles.blind == {NeedleKind.TEXT: 2, NeedleKind.HASH: 0, NeedleKind.VECTOR: 1}
    assert numbers_of(needles.needles) == {NeedleKind.TEXT: {0}, NeedleKind.HASH: {0}, NeedleKind.VECTOR: set()}
