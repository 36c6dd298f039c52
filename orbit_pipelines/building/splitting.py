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

# How many limits of text the splitter is given at a time: where it finds no word or sentence to cut at, its time grows
# with the square of the text's length (a minute for 80,000 characters).
_WINDOW = 8

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


def split_texts(texts: Sequence[str], blocks: Sequence[Sequence[Block]], limit: int) -> Iterator[list[Piece]]:
    """Yield each text's pieces in order, none longer than ``limit`` with its opening and closing.

    Pieces follow one another without a gap; only a run of white space too long for the pieces beside it loses its
    middle. No piece is white space alone; a blank text has none. What becomes of a text depends on no other.

    Args:
        texts: any texts; one within the limit is one piece.
        blocks: each text's fences and tables, in order.
        limit: the most characters of a piece, at least 8.
    """
    prose = _cut_prose([text for text, found in zip(texts, blocks, strict=True) if not found], limit)
    for text, found in zip(texts, blocks, strict=True):
        yield _split_around(text, found, limit) if found else [Piece(start, end) for start, end in next(prose)]


def _split_around(text: str, blocks: Sequence[Block], limit: int) -> list[Piece]:
    """Return the pieces of a text with blocks: theirs, and those of the prose between them."""
    if len(text) <= limit:
        return [Piece(0, len(text))]
    pieces: list[Piece] = []
    reached = 0
    for block in _absorb_blanks(text, blocks):
        of_block = _split_block(text, block, limit)
        if of_block:
            _append(pieces, _prose_pieces(text, reached, block.start, limit), limit)
            _append(pieces, of_block, limit)
            reached = block.end
    _append(pieces, _prose_pieces(text, reached, len(text), limit), limit)
    return pieces


def _prose_pieces(text: str, start: int, end: int, limit: int) -> list[Piece]:
    ranges = next(_cut_prose([text[start:end]], limit))
    return [Piece(start + range_start, start + range_end) for range_start, range_end in ranges]


def _append(pieces: list[Piece], more: Sequence[Piece], limit: int) -> None:
    """Append a segment's pieces; its first one becomes one with the last of the segment before if the limit allows."""
    if pieces and more:
        last, first = pieces[-1], more[0]
        length = len(last.opening) + first.end - last.start + len(first.closing)
        if last.end == first.start and not last.closing and not first.opening and length <= limit:
            pieces[-1] = Piece(last.start, first.end, last.opening, first.closing)
            more = more[1:]
    pieces.extend(more)


def _absorb_blanks(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with the white space that is all there is between them, before the first or after the last.

    Left to itself it would make a segment, and a piece, of nothing but white space.
    """
    starts = [block.start for block in blocks[1:]]
    absorbed = [
        _extend(block, next_start) if is_blank(text[block.end : next_start]) else block
        for block, next_start in zip(blocks, [*starts, len(text)], strict=True)
    ]
    if is_blank(text[: absorbed[0].start]):
        absorbed[0] = absorbed[0]._replace(start=0)
    return absorbed


def _extend(block: Block, end: int) -> Block:
    """Return the block with the white space after it: in its tail if it has one, else in its body."""
    has_tail = block.tail_start < block.end
    return block._replace(end=end, tail_start=block.tail_start if has_tail else end)


def _split_block(text: str, block: Block, limit: int) -> list[Piece]:
    """Return the pieces of a fence or table, each whole by itself; none where head and tail leave too little room."""
    if block.end - block.start <= limit:
        return [Piece(block.start, block.end)]
    head = max(len(block.opening), block.head_end - block.start)
    tail = max(len(block.closing) + 1 if block.closing else 0, block.end - block.tail_start)
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


def _cut_prose(texts: Sequence[str], limit: int) -> Iterator[list[Range]]:
    """Yield the ranges of each text, all but the very long by one call of the splitter."""
    inner = limit - _PROSE_RESERVE
    bulk = iter(_splitter("prose", inner).chunk_all_indices([text for text in texts if _fits_bulk(text, limit)]))
    for text in texts:
        if len(text) <= limit:
            yield [] if is_blank(text) else [(0, len(text))]
            continue
        cuts = next(bulk) if _fits_bulk(text, limit) else _cuts(text, inner, "prose")
        ranges, lost = _give_white_space_back(text, cuts, limit)
        yield _cut(text, limit, "prose", 4 * _PROSE_RESERVE) if lost else ranges


def _fits_bulk(text: str, limit: int) -> bool:
    return limit < len(text) <= _WINDOW * limit


def _cut(text: str, limit: int, kind: _Kind, reserve: int) -> list[Range]:
    """Return the ranges of one text, with as little reserved for white space as loses none of it, if any does."""
    while True:
        reserve = min(reserve, limit // 2)
        ranges, lost = _give_white_space_back(text, _cuts(text, limit - reserve, kind), limit)
        if not lost or reserve == limit // 2:
            return ranges
        reserve *= 4


def _cuts(text: str, limit: int, kind: _Kind) -> list[_Cut]:
    """Return what the splitter makes of a text, window by window; each begins with the last cut of the one before."""
    splitter = _splitter(kind, limit)
    cuts: list[_Cut] = []
    start = 0
    while start < len(text):
        end = start + _WINDOW * limit
        found = [(start + offset, cut) for offset, cut in splitter.chunk_indices(text[start:end])]
        # With more text the last one might have been longer.
        is_open = end < len(text) and bool(found) and found[-1][0] > start
        cuts += found[:-1] if is_open else found
        start = found[-1][0] if is_open else end
    return cuts


def _give_white_space_back(text: str, cuts: Sequence[_Cut], limit: int) -> tuple[list[Range], bool]:
    """Return ranges that take in the white space around the given cuts, and whether some found no room.

    A line's end stays with what it ends, an indentation with what it indents. Neighbours that fit together become one.
    """
    if not cuts:
        return [], False
    starts = [start for start, _ in cuts]
    ends = [start + len(cut) for start, cut in cuts]
    ranges: list[Range] = []
    start = max(0, ends[0] - limit)
    lost = start > 0
    reaches = [*starts[2:], len(text)]
    for end, next_start, next_end, next_reach in zip(ends, starts[1:], ends[1:], reaches, strict=False):
        # The splitter lets a heading or a bold word stand alone where the rest of its paragraph is too long. What
        # becomes one keeps room for the white space after it: a table's row must not begin with a line end.
        if next_reach - start <= limit:
            continue
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
