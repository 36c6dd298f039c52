import codecs
import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.errors import UnknownExportFormat, UnreadableExport
from orbit_pipelines.history import json_text, rows
from orbit_pipelines.history.reading import Document, Export
from orbit_pipelines.history.rows import read_rows
from orbit_pipelines.history.stream import Problems

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=5), values, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(st.text(max_size=5), json_values, max_size=4)


class Trickle(io.RawIOBase):
    """Bytes that come a few at a time, as a slow pipe gives them."""

    def __init__(self, content: bytes, at_once: int = 7) -> None:
        self._rest = io.BytesIO(content)
        self._at_once = at_once

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._rest.read(min(len(buffer), self._at_once))
        buffer[: len(piece)] = piece
        return len(piece)


def stream(*contents: bytes | str, problems: Problems | None = None, at_once: int = 1000) -> Iterator[rows.Row]:
    documents = []
    for number, content in enumerate(contents):
        encoded = content.encode() if isinstance(content, str) else content
        documents.append(Document(f"{number}.json", partial(Trickle, encoded, at_once)))
    return read_rows(Export("test", tuple(documents), None), problems or Problems())


def values(*contents: bytes | str, problems: Problems | None = None) -> list[object]:
    return [row.value for row in stream(*contents, problems=problems)]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Every text is longer than one chunk."""
    monkeypatch.setattr(json_text, "CHUNK", 16)
    monkeypatch.setattr(rows, "CHUNK", 16)
    return 16


ROW_TEXTS = ('{"a": 1}', '{"b": [{"c": "d\\n\\ud83d\\ude80"}]}', '{"e": -1.5e3}')
ROWS: list[object] = [{"a": 1}, {"b": [{"c": "d\n\U0001f680"}]}, {"e": -1500.0}]


@pytest.mark.parametrize(
    "text",
    [
        f"[{', '.join(ROW_TEXTS)}]",
        "\n[\n " + " ,\r\n".join(ROW_TEXTS) + "\n ]\n",
        f'{{"version": 2, "conversations": [{",".join(ROW_TEXTS)}], "more": {{"x": []}}}}',
        '{\n"conversations" : [\n' + ",\n".join(ROW_TEXTS) + "\n]\n}",
        "\n".join(ROW_TEXTS),
        "\r\n".join((*ROW_TEXTS, "")),
        "\r".join(ROW_TEXTS),
        "\n\n".join(ROW_TEXTS) + "\n \n",
        "\ufeff" + "\n".join(ROW_TEXTS),
        codecs.BOM_UTF16_LE + f"[{','.join(ROW_TEXTS)}]".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "\r\n".join(ROW_TEXTS).encode("utf-16-be"),
    ],
)
def test_a_list_an_object_with_one_and_lines_give_the_same_rows(text: str | bytes) -> None:
    assert values(text) == ROWS


@pytest.mark.usefixtures("small_chunks")
def test_rows_are_the_same_however_the_text_is_cut_into_chunks() -> None:
    test_a_list_an_object_with_one_and_lines_give_the_same_rows(f"[{', '.join(ROW_TEXTS)}]")
    test_a_list_an_object_with_one_and_lines_give_the_same_rows("\r\n".join(ROW_TEXTS))
    assert values("[1234567890123456789, 12345678901234567, true, null]") == [
        1234567890123456789,
        12345678901234567,
        True,
        None,
    ]


def test_an_object_alone_is_one_conversation_with_its_turns() -> None:
    turns = [{"from": "human", "value": "one"}, {"role": "user"}]
    assert values(json.dumps({"conversations": turns, "id": 1}, indent=1)) == [{"conversations": turns, "id": 1}]
    assert values("{}") == [{}]


def test_rows_say_where_they_stand() -> None:
    assert [row.where for row in stream("[1, 2]")] == ["conversation 1", "conversation 2"]
    assert [row.where for row in stream("\n{}\n{}\n")] == ["line 2", "line 3"]
    assert [row.where for row in stream("[1]", "{}\n{}")] == [
        "0.json, conversation 1",
        "1.json, line 1",
        "1.json, line 2",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": "cut', '{"b": 1}', '{"c": 2}'],
        ['{"a": [1,', '{"b": 1}', '{"c": 2}'],
        ["# no JSON", '{"b": 1}', '{"c": 2}'],
        ['{"b": 1}', '{"a": "cut', '{"c": 2}'],
        ['{"b": 1}', '{"c": 2}', '{"a": "cut'],
        ['{"b": 1}', "\0", '{"c": 2}'],
        ['{"b": 1}', "[" * 100_000, '{"c": 2}'],
    ],
)
def test_a_broken_line_is_skipped_counted_and_named_wherever_it_stands(lines: list[str]) -> None:
    problems = Problems()
    assert values("\n".join(lines), problems=problems) == [{"b": 1}, {"c": 2}]
    broken = next(number for number, line in enumerate(lines, start=1) if line not in ('{"b": 1}', '{"c": 2}'))
    assert [(problem.kind, problem.where) for problem in problems.shown] == [("broken_line", f"line {broken}")]


@pytest.mark.usefixtures("small_chunks")
def test_a_line_that_is_too_long_is_skipped_like_a_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "LARGEST_VALUE", 100)
    long = json.dumps({"a": "x" * 1000})
    problems = Problems()
    assert values("\n".join(['{"b": 1}', long, '{"c": 2}', long]), problems=problems) == [{"b": 1}, {"c": 2}]
    assert [problem.where for problem in problems.shown] == ["line 2", "line 4"]


@pytest.mark.usefixtures("small_chunks")
def test_a_first_line_longer_than_what_is_looked_at_is_a_line() -> None:
    long = {"messages": ["x" * 1000]}
    assert values(f'{json.dumps(long)}\n{{"b": 1}}\ncut\n') == [long, {"b": 1}]


@pytest.mark.parametrize("text", ['[{"a": "%s"}]', '{"a": {"b": "%s"}, "c": 1}', '{"a": 1, "b": "%s",\n "c": 1}'])
def test_a_conversation_that_is_too_large_is_refused_naming_the_limit(
    text: str, small_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "LARGEST_VALUE", 100)
    monkeypatch.setattr(rows, "LARGEST_VALUE", 100)
    with pytest.raises((UnreadableExport, UnknownExportFormat), match=r"more than 100 characters|neither a zip"):
        values(text % ("x" * 1000))


def test_halves_of_surrogate_pairs_and_broken_bytes_arrive_for_cleaning() -> None:
    assert values(rb'["half \ud83d", "\ude80", "\ud83dA", "pair \ud83d\ude80"]') == [
        "half \ud83d",
        "\ude80",
        "\ud83dA",
        "pair \U0001f680",
    ]
    assert values(b'["byte \xff.", "cut \xf0\x9f\x9a."]') == ["byte \0.", "cut \0."]
    assert values(b'["raw\ttab and\nline"]') == ["raw\ttab and\nline"]


def test_numbers_of_any_length_are_read() -> None:
    assert values(f"[{'9' * 5000}, 1e400, -1e400, 18446744073709551616]") == [
        float("inf"),
        float("inf"),
        float("-inf"),
        2**64,
    ]


@given(
    st.lists(json_values, max_size=5),
    st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}]),
    st.integers(1, 40),
)
def test_a_list_of_anything_comes_back(items: list[object], style: dict[str, Any], chunk: int) -> None:
    text = json.dumps(items, **style).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "CHUNK", chunk)
        patch.setattr(rows, "CHUNK", chunk)
        assert values(text) == json.loads(text)


@given(st.lists(objects.filter(bool), min_size=1, max_size=5), st.integers(1, 40))
def test_lines_of_anything_come_back(items: list[dict[str, object]], chunk: int) -> None:
    text = "\n".join(map(json.dumps, items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "CHUNK", chunk)
        patch.setattr(rows, "CHUNK", chunk)
        seen = values(text)
    # A single line that is an object with a list of conversations is that list.
    assert seen == items or (len(items) == 1 and "conversations" in items[0])


@pytest.mark.parametrize(
    "cut", ["[0.", "[-", "[1e", "[1E+", "[-1.5e-", "[tru", '["\\', '["\\u00', '[{"a', '[{"a":', "[1, 2."]
)
def test_a_list_cut_in_the_middle_of_a_value_is_cut_short(cut: str) -> None:
    with pytest.raises(UnreadableExport, match="is cut short"):
        values(cut)


@given(st.lists(json_values, max_size=4), st.data())
def test_a_list_cut_anywhere_is_refused_after_the_rows_before_the_cut(items: list[object], data: st.DataObject) -> None:
    text = json.dumps(items)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    seen: list[object] = []
    with pytest.raises(UnreadableExport, match="is cut short"):
        seen.extend(row.value for row in stream(cut))
    assert seen == json.loads(text)[: len(seen)] or isinstance(seen[-1], int | float)
