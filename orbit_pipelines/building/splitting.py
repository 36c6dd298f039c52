"""Where long texts are cut.

The splitter finds the places (headings, paragraphs, sentences, words, grapheme clusters, in this order) and trims white
space around them. Here that white space is given back to the pieces, so that nothing is lost, and fences and tables
are cut so that every piece of one is a fence or a table by itself.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from orbit_pipelines.building.markdown import Block

# What the splitter trims: Unicode's property White_Space (str.isspace also takes four control characters).
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_ZERO_WIDTH_JOINER = "\u200d"

# Characters left free in a piece for the white space beside it: two for prose, where that is a blank line at most,
# more for code, so that a line keeps its indentation.
_PROSE_RESERVE = 2
_CODE_RESERVE = 16

# A block whose head and tail leave its body less than this part of the limit is cut like prose.
_LEAST_BODY = 4

Range = tuple[int, int]
_Cut = tuple[int, str]
_Kind = Literal["prose", "lines"]


class Piece(NamedTuple):
    """One piece of a text, by character offsets, and what is written before and after it."""

    start: int
    end: int
    opening: str = ""
    closing: str = ""


def split_text(text: str, blocks: Sequence[Block], limit: int) -> list[Piece]:
    """Return the pieces of one text; see ``split_texts``."""
    return split_texts([text], [blocks], limit)[0]


def split_texts(texts: Sequence[str], blocks: Sequence[Sequence[Block]], limit: int) -> list[list[Piece]]:
    """Return each text's pieces in order, none longer than ``limit`` with its opening and closing.

    Pieces follow one another without a gap; only a run of white space too long for the pieces beside it loses its
    middle. No piece is white space alone; a blank text has none. What becomes of a text depends on no other.

    Args:
        texts: any texts; one within the limit is one piece.
        blocks: each text's fences and tables, in order.
        limit: the most characters of a piece, at least 8.
    """
    layouts = [_lay_out(text, found, limit) for text, found in zip(texts, blocks, strict=True)]
    prose = [
        text[segment[0] : segment[1]]
        for text, layout in zip(texts, layouts, strict=True)
        for segment in layout
        if isinstance(segment, tuple)
    ]
    cuts = iter(_cut_prose(prose, limit))
    return [
        _join_seams(
            [
                [Piece(segment[0] + start, segment[0] + end) for start, end in next(cuts)]
                if isinstance(segment, tuple)
                else segment
                for segment in layout
            ],
            limit,
        )
        for layout in layouts
    ]


def _lay_out(text: str, blocks: Sequence[Block], limit: int) -> list[Range | list[Piece]]:
    """Return the segments of a text in order: a range for prose, a list of pieces for a block."""
    if not blocks or len(text) <= limit:
        return [(0, len(text))]
    segments: list[Range | list[Piece]] = []
    reached = 0
    for block in _absorb_blanks(text, blocks):
        pieces = _split_block(text, block, limit)
        if not pieces:
            continue
        if reached < block.start:
            segments.append((reached, block.start))
        segments.append(pieces)
        reached = block.end
    if reached < len(text):
        segments.append((reached, len(text)))
    return segments


def _absorb_blanks(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with the white space that is all there is between them, before the first or after the last.

    Left to itself it would make a segment, and a piece, of nothing but white space.
    """
    absorbed: list[Block] = []
    for block in blocks:
        reached = absorbed[-1].end if absorbed else 0
        if not is_blank(text[reached : block.start]):
            absorbed.append(block)
        elif absorbed:
            absorbed[-1] = absorbed[-1]._replace(end=block.start)
            absorbed.append(block)
        else:
            absorbed.append(block._replace(start=0))
    if is_blank(text[absorbed[-1].end :]):
        absorbed[-1] = absorbed[-1]._replace(end=len(text))
    return absorbed


def _split_block(text: str, block: Block, limit: int) -> list[Piece]:
    """Return the pieces of a fence or table, each whole by itself; none where head and tail leave too little room."""
    if block.end - block.start <= limit:
        return [Piece(block.start, block.end)]
    head = max(len(block.opening), block.head_end - block.start)
    tail = max(len(block.closing) + 1, block.end - block.tail_start)
    room = limit - head - tail
    if room * _LEAST_BODY < limit:
        return []
    body = text[block.head_end : block.tail_start]
    ranges = _cut(body, room, "lines", _CODE_RESERVE if block.closing else _PROSE_RESERVE)
    if not ranges or ranges[0][0] > 0 or ranges[-1][1] < len(body):
        return []
    pieces = []
    for start, end in ranges:
        is_first, is_last = start == 0, end == len(body)
        is_closed = not block.closing or (is_last and block.tail_start < block.end)
        pieces.append(
            Piece(
                block.start if is_first else block.head_end + start,
                block.end if is_last else block.head_end + end,
                "" if is_first else block.opening,
                "" if is_closed else ("" if body[end - 1] in "\r\n" else "\n") + block.closing,
            )
        )
    return pieces


def _join_seams(segments: Sequence[Sequence[Piece]], limit: int) -> list[Piece]:
    """Return all pieces in order; where two segments meet, their pieces become one if the limit allows."""
    joined: list[Piece] = []
    for pieces in segments:
        if joined and pieces:
            last, first = joined[-1], pieces[0]
            length = len(last.opening) + first.end - last.start + len(first.closing)
            if last.end == first.start and not last.closing and not first.opening and length <= limit:
                joined[-1] = Piece(last.start, first.end, last.opening, first.closing)
                joined.extend(pieces[1:])
                continue
        joined.extend(pieces)
    return joined


def _cut_prose(texts: Sequence[str], limit: int) -> Iterator[list[Range]]:
    """Yield the ranges of each text, all long ones by one call of the splitter."""
    splitter = _splitter("prose", limit - _PROSE_RESERVE)
    cuts = iter(splitter.chunk_all_indices([text for text in texts if len(text) > limit]))
    for text in texts:
        if len(text) <= limit:
            yield [] if is_blank(text) else [(0, len(text))]
            continue
        ranges, lost = _give_white_space_back(text, next(cuts), limit)
        yield _cut(text, limit, "prose", 4 * _PROSE_RESERVE) if lost else ranges


def _cut(text: str, limit: int, kind: _Kind, reserve: int) -> list[Range]:
    """Return the ranges of one text, with as little reserved for white space as loses none of it, if any does."""
    while True:
        reserve = min(reserve, limit // 2)
        ranges, lost = _give_white_space_back(text, _splitter(kind, limit - reserve).chunk_indices(text), limit)
        if not lost or reserve == limit // 2:
            return ranges
        reserve *= 4


def _give_white_space_back(text: str, cuts: Sequence[_Cut], limit: int) -> tuple[list[Range], bool]:
    """Return ranges that take in the white space around the given cuts, and whether some found no room.

    A line's end stays with what it ends, an indentation with what it indents.
    """
    if not cuts:
        return [], False
    starts = [start for start, _ in cuts]
    ends = [start + len(cut) for start, cut in cuts]
    ranges: list[Range] = []
    start = max(0, ends[0] - limit)
    lost = start > 0
    for end, next_start, next_end in zip(ends, starts[1:], ends[1:], strict=False):
        # Where this piece must end at the latest, and the next one begin at the earliest.
        latest = min(start + limit, next_start)
        earliest = max(next_end - limit, end)
        if earliest > latest:
            lost = True
            ranges.append((start, latest))
            start = earliest
        else:
            border = _border(text, end, next_start, earliest, latest)
            ranges.append((start, border))
            start = border
    stop = min(start + limit, len(text))
    ranges.append((start, stop))
    return ranges, lost or stop < len(text)


def _border(text: str, end: int, next_start: int, earliest: int, latest: int) -> int:
    """Return where the white space between two pieces is divided: after its last line end, or else where it ends."""
    line_end = text.rfind("\n", end, next_start) + 1
    border = line_end or next_start
    if not line_end and end < next_start and _continues(text[next_start]):
        border -= 1
    border = min(max(border, earliest), latest)
    if text[border - 1 : border + 1] == "\r\n" and border > earliest:
        border -= 1
    return border


def _continues(character: str) -> bool:
    """Tell whether a character belongs to the one before it, white space even."""
    return character == _ZERO_WIDTH_JOINER or unicodedata.category(character).startswith("M")


def is_blank(text: str) -> bool:
    """Tell whether a text is white space alone, as the splitter and Polars understand it."""
    return not text.strip(WHITE_SPACE)


@cache
def _splitter(kind: _Kind, limit: int) -> MarkdownSplitter | TextSplitter:
    return MarkdownSplitter(limit) if kind == "prose" else TextSplitter(limit)
