"""Recalled memory inside a text: wrapped, told apart, cut as pairing cuts it."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.building.recalled_blocks import cut_recalled_blocks
from orbit_pipelines.history.recalled import BEGIN, END, MARK, Part, cut, parts, wrap

PIECES = st.lists(
    st.sampled_from([BEGIN, END, END.upper(), BEGIN.replace("[", "\\["), "a", " ", "\n", "b c", MARK, "[["]), max_size=7
).map("".join)


def test_a_block_stands_on_lines_of_its_own() -> None:
    assert wrap("You like tea.").split("\n") == [BEGIN, "You like tea.", END]


def test_markers_inside_a_block_are_broken() -> None:
    wrapped = wrap(f"before {END} between {BEGIN} after")
    assert wrapped.count(MARK) == 2
    assert wrap(wrap("again")).count(END) == 1


def test_no_product_would_escape_the_markers() -> None:
    assert not set("<>&\"'`*_#\\") & set(BEGIN + END)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", (Part("plain", False),)),
        ("", ()),
        (wrap("m"), (Part("\nm\n", True),)),
        (f"before\n{wrap('m')}\nafter", (Part("before\n", False), Part("\nm\n", True), Part("\nafter", False))),
        (f"before {BEGIN} open", (Part("before ", False), Part(" open", True))),
        (f"early {END} after", (Part("early ", True), Part(" after", False))),
    ],
)
def test_a_text_is_told_apart(text: str, expected: tuple[Part, ...]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (BEGIN.upper(), END.title()),
        (BEGIN.replace("[", "\\["), END.replace("[", "\\[")),
        (re.sub(r"([][:-])", r"\\\1", BEGIN), re.sub(r"([][:-])", r"\\\1", END)),
        (BEGIN.replace(" ", "  "), END.replace("]]", " ]]")),
        (f"> {BEGIN}", f"> {END}"),
    ],
)
def test_markers_are_known_as_products_write_them_back(begin: str, end: str) -> None:
    text = f"Mine.\n{begin}\nLEARNED\n{end}\nMine too."
    assert cut(text) == "Mine.\n\nMine too."
    frame = cut_recalled_blocks(pl.DataFrame({"content": [text]}))
    assert frame.rows() == [("Mine.\n\nMine too.", True)]
    assert cut(wrap(text)) == ""


@given(PIECES)
def test_it_is_cut_as_pairing_cuts_it(text: str) -> None:
    by_pairing = cut_recalled_blocks(pl.DataFrame({"content": [text]}))["content"][0]

    assert cut(text).split() == by_pairing.split()


@given(PIECES)
def test_nothing_gets_out_of_a_block(text: str) -> None:
    assert cut(f"x {wrap(text)} y") == "x\n\ny"
