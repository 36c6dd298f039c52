"""Where a text's fenced code and tables are: what can't be cut like prose."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Blocks only: what is inside a paragraph is of no interest here, and costs most of the time.
# No HTML either: a fence that stands right behind <details>, without a blank line, is one to whoever reads on.
_PARSER = MarkdownIt("commonmark").enable("table").disable("html_block")
_PARSER.core.ruler.enableOnly(["normalize", "block"])

_NEWLINE = re.compile(r"\r\n?|\n")
_TABLE_RULE = re.compile(r"-[ \t:]*\||\|[ \t:]*-")
_CLOSING_FENCE = re.compile(r"[\s>]*(`{3,}|~{3,})[ \t]*")
_LIST_MARKERS = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")


class Block(NamedTuple):
    """A fence or a table in its text, by character offsets: head, body, tail.

    ``opening`` goes before a body that is continued elsewhere (the fence's first line, the table's header rows),
    ``closing`` after one that goes on elsewhere (the fence's last line; nothing for a table).
    """

    start: int
    head_end: int
    tail_start: int
    end: int
    opening: str
    closing: str


def find_blocks(text: str) -> list[Block]:
    """Return the fences and tables of a Markdown text, in order; those in lists and quotations too."""
    may_hold_some = "```" in text or "~~~" in text or ("|" in text and _TABLE_RULE.search(text))
    if not may_hold_some:
        return []
    lines = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
    if lines[-1] < len(text):
        lines.append(len(text))
    blocks = []
    for token in _PARSER.parse(text):
        if token.type == "fence":
            blocks.append(_fence(text, lines, token))
        elif token.type == "table_open":
            blocks.append(_table(text, lines, token))
    return blocks


def _fence(text: str, lines: Sequence[int], token: Token) -> Block:
    first, after = _lines_of(token)
    start, head_end, end = lines[first], _line(lines, first + 1), _line(lines, after)
    first_line = text[start:head_end].rstrip("\r\n")
    marker_at = first_line.index(token.markup)
    indent = _container(first_line[:marker_at])
    tail_start = end
    if after - first > 1:
        last_line = lines[after - 1]
        closing_fence = _CLOSING_FENCE.fullmatch(text[last_line:end].rstrip("\r\n"))
        if closing_fence and closing_fence[1].startswith(token.markup):
            tail_start = last_line
    return Block(
        start,
        head_end,
        tail_start,
        end,
        opening=f"{indent}{first_line[marker_at:].rstrip()}\n",
        closing=f"{indent}{token.markup}",
    )


def _table(text: str, lines: Sequence[int], token: Token) -> Block:
    first, after = _lines_of(token)
    start, head_end, end = lines[first], _line(lines, first + 2), _line(lines, after)
    head = text[start:head_end].rstrip("\r\n")
    if token.level > 0:
        markers = _LIST_MARKERS.match(head)
        width = markers.end() if markers else 0
        head = _container(head[:width]) + head[width:]
    return Block(start, head_end, end, end, opening=f"{head}\n", closing="")


def _container(prefix: str) -> str:
    """Return what puts a further line in the same list item or quotation: list markers become spaces."""
    return re.sub(r"[^\s>]", " ", prefix)


def _lines_of(token: Token) -> tuple[int, int]:
    first, after = token.map or (0, 0)
    return first, after


def _line(lines: Sequence[int], number: int) -> int:
    """Return where a line starts; a text's end is where the line after its last one would."""
    return lines[min(number, len(lines) - 1)]
