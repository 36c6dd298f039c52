from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.forgetting.physical.searching import Searcher, find_in_blocks

# Few different bytes, so that needles begin alike and stand in what is searched.
FEW = st.binary(min_size=8, max_size=20).map(lambda data: bytes(each % 3 for each in data))
HAYSTACK = st.binary(max_size=200).map(lambda data: bytes(each % 3 for each in data))


@given(st.lists(FEW, max_size=6), HAYSTACK, st.lists(st.integers(0, 200), max_size=4))
def test_needles_are_found_exactly_where_they_stand_however_a_file_is_cut(
    needles: list[bytes], haystack: bytes, cuts: list[int]
) -> None:
    edges = [0, *sorted(min(cut, len(haystack)) for cut in cuts), len(haystack)]
    blocks = [haystack[start:end] for start, end in pairwise(edges)]

    assert find_in_blocks(Searcher(needles), blocks) == {needle for needle in needles if needle in haystack}


def test_a_needle_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="7 bytes"):
        Searcher([b"1234567"])
