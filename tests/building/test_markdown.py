import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.building.markdown import find_blocks

FENCE = "Look:\n\n```python title=x\nprint(1)\nprint(2)\n```\n\nDone.\n"


def parts_of(text: str) -> list[tuple[str, str, str]]:
    """Return head, body and tail of each block."""
    return [
        (
            text[block.start : block.head_end],
            text[block.head_end : block.tail_start],
            text[block.tail_start : block.end],
        )
        for block in find_blocks(text)
    ]


def test_a_fence_has_its_first_line_for_a_head_and_its_last_for_a_tail() -> None:
    assert parts_of(FENCE) == [("```python title=x\n", "print(1)\nprint(2)\n", "```\n")]
    [block] = find_blocks(FENCE)
    assert (block.opening, block.closing) == ("```python title=x\n", "```")


def test_a_table_has_its_header_rows_for_a_head() -> None:
    text = "Prices\n\n| what | price |\n| :--- | ---: |\n| tea | 2 |\n| cake | 3 |\n\nThat's all."
    assert parts_of(text) == [("| what | price |\n| :--- | ---: |\n", "| tea | 2 |\n| cake | 3 |\n", "")]
    [block] = find_blocks(text)
    assert (block.opening, block.closing) == ("| what | price |\n| :--- | ---: |\n", "")


@pytest.mark.parametrize(
    ("text", "opening", "closing", "body"),
    [
        ("1. Run\n   ```sh\n   ls\n   ```\n2. Done", "   ```sh\n", "   ```", "   ls\n"),
        ("1. ```sh\n   ls\n   ```", "   ```sh\n", "   ```", "   ls\n"),
        ("> ~~~\n> ls\n> ~~~\n", "> ~~~\n", "> ~~~", "> ls\n"),
        ("````md\n```\nls\n```\n````", "````md\n", "````", "```\nls\n```\n"),
        ("```\nnever closed\n\n", "```\n", "```", "never closed\n\n"),
        ("```\r\nls\r\n```\r\n", "```\n", "```", "ls\r\n"),
        ("```\rls\r```", "```\n", "```", "ls\r"),
        ("- | a | b |\n  |---|---|\n  | 1 | 2 |\n", "  | a | b |\n  |---|---|\n", "", "  | 1 | 2 |\n"),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |", "> | a | b |\n> |---|---|\n", "", "> | 1 | 2 |"),
        ("a | b\n--- | ---\n1 | 2", "a | b\n--- | ---\n", "", "1 | 2"),
        ("<details>\n```py\nx\n```\n</details>\n", "```py\n", "```", "x\n"),
        ("<details><summary>s</summary>\n~~~\nx\n~~~", "~~~\n", "~~~", "x\n"),
        ("<div>\n\n```\nx\n", "```\n", "```", "x\n"),
    ],
)
def test_a_block_is_continued_as_it_began(text: str, opening: str, closing: str, body: str) -> None:
    [block] = find_blocks(text)
    assert (block.opening, block.closing, text[block.head_end : block.tail_start]) == (opening, closing, body)


@pytest.mark.parametrize(
    "text", ["", "no blocks | here - at all", "`` ` ``", "a ``` b", "- a\n- b | c\n", "    ```\n    x\n"]
)
def test_prose_has_no_blocks(text: str) -> None:
    assert find_blocks(text) == []


def test_blocks_come_in_order() -> None:
    text = f"{FENCE}\n| a | b |\n|---|---|\n| 1 | 2 |\n\n{FENCE}"
    heads = [head for head, _, _ in parts_of(text)]
    assert heads == ["```python title=x\n", "| a | b |\n|---|---|\n", "```python title=x\n"]


SCRAPS = st.sampled_from(
    [
        "```",
        "~~~",
        "````",
        "\n",
        "\r\n",
        "\r",
        " ",
        "    ",
        "\t",
        ">",
        "- ",
        "1. ",
        "|",
        "| a | b |",
        "|---|---|",
        "word",
        "é",
    ]
)


@settings(deadline=None)
@given(st.lists(SCRAPS, max_size=40).map("".join))
def test_blocks_of_any_text_lie_in_it_one_after_another(text: str) -> None:
    reached = 0
    for block in find_blocks(text):
        assert reached <= block.start < block.head_end <= block.tail_start <= block.end <= len(text)
        reached = block.end
