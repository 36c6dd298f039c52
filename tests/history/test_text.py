import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.history.stream import Problem, Problems
from orbit_pipelines.history.text import LONGEST_ID, LONGEST_SPACE, clean_text, storable, usable_id

any_text = st.text(st.characters(codec=None))
storable_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\0b", "a\ufffdb"),
        ("a\ud83d b", "a\ufffd b"),
        ("\ude80\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude80\ud83d", "\U0001f680\ufffd"),
        ("\ufeffkept\ud800", "\ufeffkept\ufffd"),
    ],
)
def test_what_cannot_be_stored_is_replaced_one_for_one(text: str, cleaned: str) -> None:
    assert clean_text(text) == (cleaned, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "cafe\u0301 caf\u00e9",
        "\u202bשלום\u202c",
        "\x01\x07\x1b[0m\t\r\n",
    ],
)
def test_everything_else_stays_as_it_was(text: str) -> None:
    assert clean_text(text) == (text, False)


@given(any_text)
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    cleaned, is_changed = clean_text(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert is_changed == (cleaned != text)
    assert clean_text(cleaned) == (cleaned, False)


@given(storable_text)
def test_text_that_can_be_stored_is_never_changed(text: str) -> None:
    assert clean_text(text) == (text, False)


def test_a_changed_text_is_reported_where_it_stands_and_without_its_words() -> None:
    problems = Problems()
    assert storable("secret\0", "message 7", problems) == "secret\ufffd"
    assert storable("fine", "message 8", problems) == "fine"
    assert problems.counts == {"text_replaced": 1}
    assert problems.shown == [
        Problem("text_replaced", "message 7", "characters that can't be stored were replaced by U+FFFD")
    ]


@pytest.mark.parametrize("space", [" ", "\n", "\r\n", " \t", "\u3000"])
def test_white_space_longer_than_any_layout_is_kept_and_reported(space: str) -> None:
    problems = Problems()
    for length in (LONGEST_SPACE // 2, LONGEST_SPACE + 1, 10_000):
        run = (space * length)[:length]
        text = f"{'words ' * 100}end{run}more"
        assert storable(text, f"of {length}", problems) == text
    assert [problem.where for problem in problems.shown] == [f"of {LONGEST_SPACE + 1}", "of 10000"]
    assert problems.counts == {"long_white_space": 2}


@given(st.text(st.sampled_from(" \n\tab"), min_size=LONGEST_SPACE, max_size=3 * LONGEST_SPACE))
def test_nothing_but_a_long_run_is_reported(text: str) -> None:
    problems = Problems()
    storable(text, "here", problems)
    assert bool(problems.counts) == any(len(run) > LONGEST_SPACE for run in re.findall(r"\s+", text))


@pytest.mark.parametrize(
    ("value", "identifier"),
    [
        ("a-1", "a-1"),
        (17, "17"),
        ("half \ud83d", "half \ufffd"),
        ("", None),
        (" ", None),
        (None, None),
        (True, None),
        (1.5, None),
        (["a"], None),
        ("x" * (LONGEST_ID + 1), None),
        (10**400, None),
    ],
)
def test_only_what_can_be_a_key_is_an_id(value: object, identifier: str | None) -> None:
    assert usable_id(value) == identifier
