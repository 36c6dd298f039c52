import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.history.json_text import DEEPEST, decode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(max_size=5), items, max_size=4),
    max_leaves=15,
)
LEVELS = 1_500


def wrapped(text: str, levels: int = LEVELS) -> str:
    return "[" * levels + text + "]" * levels


def unwrapped(value: object, levels: int = LEVELS) -> object:
    for _ in range(levels):
        assert isinstance(value, list)
        [value] = value
    return value


@given(values, st.sampled_from([None, 1]))
@settings(deadline=None, max_examples=50)
def test_what_is_nested_deeply_decodes_like_anything_else(value: object, indent: int | None) -> None:
    assert unwrapped(decode(wrapped(json.dumps(value, indent=indent)))) == value


@pytest.mark.parametrize("text", ["1 2", '{"a" 1}', "{a: 1}", "1,", '{"a": 1,}', "1}", '{"a": 1', "tru"])
def test_what_is_wrong_deep_inside_is_an_error_like_any_other(text: str) -> None:
    with pytest.raises(ValueError, match="line 1 column"):
        decode(wrapped(text))


def test_nesting_has_a_limit() -> None:
    assert unwrapped(decode(wrapped("1", DEEPEST)), DEEPEST) == 1
    with pytest.raises(RecursionError):
        decode(wrapped("1", DEEPEST + 1))


def test_what_follows_a_deep_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="Extra data"):
        decode(wrapped("1") + "]")
