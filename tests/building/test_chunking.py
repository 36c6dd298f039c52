import json
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from orbit_pipelines.building.chunking import Chunk, ChunkerSettings, Part, chunk_parts, chunk_records
from orbit_pipelines.building.splitting import WHITE_SPACE, is_blank

MARKDOWN = MarkdownIt("commonmark").enable("table")
GIVEN_CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "h22-chunk-cjk-and-fence" / "chats.jsonl"
FAMILY = "👩‍👩‍👧‍👦"
GRAPHEMES = [FAMILY, "🇫🇷", "👍🏽", "e\u0301", "각", "ก็", "नि", "\r\n", "漢", "a", " ", "\n"]
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "user_id": pl.String,
    "agent_id": pl.String,
    "source_key": pl.String,
    "source_id": pl.String,
    "parts": pl.List(pl.Struct({"text": pl.String, "origin_class": pl.String})),
}


def chunks_of(text: str, limit: int) -> list[Chunk]:
    return chunk_parts([(text, "owner")], ChunkerSettings(limit))


def named_by_spans(chunks: Sequence[Chunk]) -> str:
    """Return what the spans of all chunks name, one after another: the parts of the record."""
    return "".join(chunk.content[start:end] for chunk in chunks for start, end, _ in chunk.spans)


def without_white_space(text: str) -> str:
    return text.translate(dict.fromkeys(map(ord, WHITE_SPACE)))


def longest_white_space(parts: Sequence[Part]) -> int:
    text = "\n\n".join(text for text, _ in parts if not is_blank(text))
    return max((len(run) for run in re.findall(f"[{WHITE_SPACE}]+", text)), default=0)


CLASSES = st.sampled_from(["owner", "agent", "untrusted", "system"])
LIMITS = st.integers(50, 1000)
WORDS = st.sampled_from(
    [
        "tea",
        "a longer stretch of words that goes on for a while",
        "w" * 70,
        "今日は駅前の図書館で夏の読書会があり友人と詩集を読み比べてから帰った",
        "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในภูมิภาคเอเชีย",
        "e\u0301" * 30,
        FAMILY * 9,
        "a" + "\u0301" * 80,
        "\u0301",
        "\x1f",
        "\u200b",
        "def f(x):",
        "# heading",
        "- item",
        "1. item",
        "> quoted",
        "| cell | another cell |",
        "| a | b |\n|---|---|",
        "```",
        "```python",
        "~~~",
        "    indented",
        "<div>",
        ".",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\n    ",
        "\r\n",
        "\t",
        "\u3000",
        " \u0301",
        " " * 60,
        "\n" * 200,
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=80).map("".join),
    st.lists(WORDS, max_size=80).map(" ".join),
    st.lists(WORDS, max_size=80).map("\n".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
)
PARTS = st.lists(st.tuples(TEXTS, CLASSES), max_size=3)


@settings(max_examples=200, deadline=None)
@given(PARTS, LIMITS)
@example([("", "owner")], 50)
@example([(" \n\u3000", "owner"), ("\n" * 200, "agent")], 50)
@example([("a" + "\n" * 5000 + "b", "owner")], 50)
@example([("w" * 20_000, "owner")], 50)
@example([(("w" * 50 + "\n\n") * 5, "owner")], 50)
def test_chunks_of_any_record_keep_to_the_limit_and_give_its_parts_back(parts: list[Part], limit: int) -> None:
    chunks = chunk_parts(parts, ChunkerSettings(limit))
    kept = [part for part in parts if not is_blank(part[0])]
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert all(len(chunk.content) <= limit for chunk in chunks)
    assert not any(is_blank(chunk.content) for chunk in chunks)
    given_back = named_by_spans(chunks)
    assert without_white_space(given_back) == without_white_space("".join(text for text, _ in kept))
    if longest_white_space(kept) <= limit // 8:
        assert given_back == "".join(text for text, _ in kept)


@settings(deadline=None)
@given(PARTS, LIMITS)
def test_spans_lie_in_order_and_name_the_class_of_what_they_cover(parts: list[Part], limit: int) -> None:
    trust = ["owner", "agent", "untrusted", "system"]
    letters = [("".join(f"{origin_class[0]} " for _ in text), origin_class) for text, origin_class in parts if text]
    for chunk in chunk_parts(letters, ChunkerSettings(limit)):
        reached = 0
        for start, end, origin_class in chunk.spans:
            assert reached <= start < end <= len(chunk.content)
            assert set(chunk.content[start:end]) <= {origin_class[0], " "}
            reached = end
        assert chunk.origin_class == max((span[2] for span in chunk.spans), key=trust.index)


@pytest.mark.parametrize("text", ["漢" * 100_000, "w" * 300_000, "one line after another\n" * 20_000, "word " * 60_000])
def test_very_long_text_is_cut_as_short_text_is(text: str) -> None:
    contents = [chunk.content for chunk in chunks_of(text, 128)]
    assert "".join(contents) == text
    assert len(contents) <= 1.3 * len(text) / 128


def test_a_record_within_the_limit_is_one_chunk() -> None:
    parts = [("Where do I live?", "owner"), ("In Lyon.", "agent")]
    assert chunk_parts(parts, ChunkerSettings(100)) == [
        Chunk(0, "Where do I live?\n\nIn Lyon.", ((0, 16, "owner"), (18, 26, "agent")), "agent")
    ]


@pytest.mark.parametrize("parts", [[], [("", "owner")], [(" \n", "owner"), ("\u3000", "agent")]])
def test_a_record_without_text_has_no_chunk(parts: list[Part]) -> None:
    assert chunk_parts(parts, ChunkerSettings(100)) == []


@pytest.mark.parametrize("text", ["w" * 20_000, "長" * 5_000, ("word " * 5_000), ("長い文。" * 1_000), "ก" * 5_000])
@pytest.mark.parametrize("limit", [50, 128, 800])
def test_prose_joined_again_is_the_text(text: str, limit: int) -> None:
    contents = [chunk.content for chunk in chunks_of(text, limit)]
    assert "".join(contents) == text
    assert max(map(len, contents)) <= limit
    # Cut no finer than the limit asks for.
    assert len(contents) <= 1.3 * len(text) / limit + 1


@settings(deadline=None)
@given(st.lists(st.sampled_from(GRAPHEMES), max_size=200), LIMITS)
def test_no_cut_goes_through_a_character_as_people_see_it(graphemes: list[str], limit: int) -> None:
    text = "".join(graphemes)
    # Neighbours that would join into one are no borders.
    borders = {0, len(text)}
    reached = 0
    for grapheme in graphemes:
        borders.add(reached)
        reached += len(grapheme)
    reached = 0
    for chunk in chunks_of(text, limit):
        assert reached in borders
        reached += len(chunk.content)


def test_a_character_longer_than_the_limit_is_cut_rather_than_lost() -> None:
    text = "a" + "\u0301" * 400
    assert "".join(chunk.content for chunk in chunks_of(text, 50)) == text


def test_sentences_stay_whole_where_they_can() -> None:
    sentence = "今日は駅前の図書館で夏の読書会があった。"
    for chunk in chunks_of(sentence * 40, 128):
        assert chunk.content.replace(sentence, "") == ""


@settings(deadline=None)
@given(st.lists(st.sampled_from(["Short.", "**bold** ", "[note] ", "# Title\n\n", "word " * 60, "\n\n"])), LIMITS)
def test_neighbours_that_fit_together_are_one_chunk(scraps: list[str], limit: int) -> None:
    lengths = [len(chunk.content) for chunk in chunks_of("".join(scraps), limit)]
    longest_indentation = max((len(scrap) - len(scrap.lstrip()) for scrap in scraps), default=0)
    assert all(one + other > limit - longest_indentation for one, other in pairwise(lengths))


# Code lines and table rows carry a mark by which they are found again.
CODE_LINES = st.lists(
    st.sampled_from(
        ["code = 1", "    code(2)  # and a comment", "", "code: " + "x" * 40, "\tcode", "        code.code()"]
    ),
    min_size=1,
    max_size=60,
)
INFOS = st.sampled_from(["", "python", "js title=a.js", " c++ "])
MARKERS = st.sampled_from(["```", "~~~", "`````"])
FENCES = st.builds(lambda marker, info, lines: "\n".join([marker + info, *lines, marker]), MARKERS, INFOS, CODE_LINES)
ROWS = st.lists(st.sampled_from(["| row | 1 |", "| row | a longer cell of words |", "| row | |"]), max_size=40)
TABLES = ROWS.map(lambda rows: "\n".join(["| name | value |", "|:-----|------:|", *rows]))
PARAGRAPHS = st.sampled_from(
    ["Some words.", "Here is a paragraph that says a little more than the others do.", "# Title"]
)
DOCUMENTS = st.lists(FENCES | TABLES | PARAGRAPHS, min_size=1, max_size=8).map("\n\n".join)


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(100, 600))
def test_cut_code_stays_code_and_cut_tables_keep_their_heads(text: str, limit: int) -> None:
    chunks = chunks_of(text, limit)
    assert all(len(chunk.content) <= limit for chunk in chunks)
    assert named_by_spans(chunks) == text
    for chunk in chunks:
        lines = chunk.content.split("\n")
        fences = [token for token in MARKDOWN.parse(chunk.content) if token.type == "fence" and token.map]
        code = {number for token in fences for number in range(*token.map or ())}
        assert all(number in code for number, line in enumerate(lines) if "code" in line)
        assert all(lines[(token.map or [0, 0])[1] - 1].strip() == token.markup for token in fences)
        headed = False
        for line in lines:
            headed = line == "| name | value |" or (headed and line.startswith("|"))
            assert headed or "row" not in line


def test_the_language_of_cut_code_is_kept() -> None:
    text = "```python\n" + "print('a line of code')\n" * 40 + "```\n\nThat was it."
    chunks = chunks_of(text, 200)
    assert all(chunk.content.startswith("```python\n") for chunk in chunks)
    assert all(chunk.content.endswith("\n```") for chunk in chunks[:-1])
    assert chunks[-1].content.endswith("```\n\nThat was it.")
    assert named_by_spans(chunks) == text


def test_what_was_added_to_a_chunk_lies_outside_its_spans() -> None:
    text = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40
    first, *others = chunks_of(text, 100)
    assert first.spans[0][:2] == (0, len(first.content))
    assert others
    assert all(chunk.content[: chunk.spans[0][0]] == "| a | b |\n|---|---|\n" for chunk in others)


def test_code_that_is_short_enough_is_not_cut() -> None:
    code = "```python\nprint(1)\n\n\nprint(2)\n```"
    text = "\n\n".join(["Some words before it. " * 8, code, "Some words after it. " * 8])
    assert any(code in chunk.content for chunk in chunks_of(text, 200))


def test_a_fence_left_open_ends_with_its_part() -> None:
    parts = [("```\n" + "my code\n" * 40, "owner"), ("A reply of a few words. " * 20, "agent")]
    for chunk in chunk_parts(parts, ChunkerSettings(120)):
        if "reply" in chunk.content:
            assert "```" not in chunk.content.split("reply", 1)[1]
            assert "my code" not in chunk.content or "```\n" in chunk.content


def test_a_head_too_long_to_repeat_is_cut_like_prose() -> None:
    text = f"| {'a long head ' * 10}| b |\n|---|---|\n" + "| 1 | 2 |\n" * 30
    chunks = chunks_of(text, 100)
    assert "".join(chunk.content for chunk in chunks) == text


def frame(records: Sequence[tuple[str, list[Part]]]) -> pl.DataFrame:
    rows = [
        (
            "ann",
            "orbitpilot",
            "files.documents",
            source_id,
            [{"text": text, "origin_class": cls} for text, cls in parts],
        )
        for source_id, parts in records
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@settings(deadline=None)
@given(st.lists(PARTS, max_size=6), LIMITS)
def test_a_frame_is_chunked_as_its_records_are_one_by_one(records: list[list[Part]], limit: int) -> None:
    shaped = ChunkerSettings(limit)
    chunked = chunk_records(frame([(str(number), parts) for number, parts in enumerate(records)]), shaped)
    expected = [
        ("ann", "orbitpilot", "files.documents", str(number), chunk.chunk_index, chunk.content, chunk.origin_class)
        for number, parts in enumerate(records)
        for chunk in chunk_parts(parts, shaped)
    ]
    assert chunked.drop("spans").rows() == expected
    spans = [chunk.spans for parts in records for chunk in chunk_parts(parts, shaped)]
    assert [tuple(tuple(span) for span in json.loads(found)) for found in chunked["spans"]] == spans


def test_a_frame_of_chunks_has_its_columns_even_without_rows() -> None:
    chunked = chunk_records(frame([]), ChunkerSettings(100))
    assert chunked.schema == {
        "user_id": pl.String,
        "agent_id": pl.String,
        "source_key": pl.String,
        "source_id": pl.String,
        "chunk_index": pl.Int32,
        "content": pl.String,
        "spans": pl.String,
        "origin_class": pl.String,
    }
    assert chunked.is_empty()


def test_missing_parts_are_no_text() -> None:
    records = pl.DataFrame(
        {
            "user_id": ["ann"] * 3,
            "agent_id": ["orbitpilot"] * 3,
            "source_key": ["files.documents"] * 3,
            "source_id": ["a", "b", "c"],
            "parts": [None, [{"text": None, "origin_class": "owner"}], [{"text": "tea", "origin_class": "owner"}]],
        },
        schema=SCHEMA,
    )
    chunked = chunk_records(records, ChunkerSettings(100))
    assert chunked.select("source_id", "content", "spans").rows() == [("c", "tea", '[[0,3,"owner"]]')]


def test_the_fingerprint_names_the_limit_and_what_cuts() -> None:
    assert ChunkerSettings(800).fingerprint != ChunkerSettings(801).fingerprint
    assert re.fullmatch(
        r"chunker/2 characters/800 semantic-text-splitter/[\d.]+ markdown-it-py/[\d.]+",
        ChunkerSettings(800).fingerprint,
    )


@pytest.mark.parametrize("limit", [128, 256, 512])
def test_the_given_case_keeps_to_its_rules(limit: int) -> None:
    counts = {}
    for line in GIVEN_CASE.read_text(encoding="utf-8").splitlines():
        session = json.loads(line)
        user, reply = (message["content"] for message in session["messages"])
        chunks = chunk_parts([(user, "owner"), (reply, "agent")], ChunkerSettings(limit))
        counts[session["id"]] = len(chunks)
        assert all(len(chunk.content) <= limit for chunk in chunks)
        assert named_by_spans(chunks) == user + reply
        assert all(chunk.content.count("```") % 2 == 0 for chunk in chunks)
        assert not any(unicodedata.combining(chunk.content[0]) for chunk in chunks)
        if session["id"] == "ch3":
            assert any("Call them in order." in chunk.content for chunk in chunks)
            assert all(chunk.content.count("```python") == 1 for chunk in chunks if "def step" in chunk.content)
    assert counts["ch1"] > 1
    assert counts["ch2"] > 1
