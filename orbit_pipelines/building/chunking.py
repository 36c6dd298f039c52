"""From records to chunks: pieces of text small enough to embed, each knowing who stands behind which part of it.

A record's text is its parts joined by a blank line. Whatever does not come from it (a table's repeated head, the lines
that close and reopen a cut fence) lies outside a chunk's spans; so the characters that the spans name, chunk after
chunk, are the parts again, character by character. Two things are left out: parts of nothing but white space, and the
middle of a run of white space so long that no chunk has room for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise

import numpy as np
import polars as pl

from orbit_pipelines.building.markdown import Block, find_blocks
from orbit_pipelines.building.splitting import Piece, is_blank, split_texts
from orbit_pipelines.model import OriginClass

_SEPARATOR = "\n\n"
_TRUST = {origin_class.value: rank for rank, origin_class in enumerate(OriginClass)}
_LIBRARIES = " ".join(f"{name}/{version(name)}" for name in ("semantic-text-splitter", "markdown-it-py"))
_KEY = ["user_id", "agent_id", "source_key", "source_id"]

Part = tuple[str, str]
"""A text and its origin class."""

Span = tuple[int, int, str]
"""Start and end in the chunk's content, in characters, and the origin class of what lies between."""


@dataclass(frozen=True, slots=True)
class ChunkerSettings:
    """What shapes chunks; ``max_characters`` counts everything in a chunk, repeated heads too."""

    max_characters: int

    @property
    def fingerprint(self) -> str:
        """Everything that decides where a text is cut, the libraries' versions too."""
        return f"chunker/2 characters/{self.max_characters} {_LIBRARIES}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk of a record; ``origin_class`` is the least trusted of its spans."""

    chunk_index: int
    content: str
    spans: tuple[Span, ...]
    origin_class: str


def chunk_parts(parts: Sequence[Part], settings: ChunkerSettings) -> list[Chunk]:
    """Return the chunks of one record, whose parts are given in order; none of a record without any text."""
    kept = [part for part in parts if not is_blank(part[0])]
    return [
        Chunk(chunk_index, content, tuple(spans), least_trusted(spans))
        for chunk_index, (content, spans) in enumerate(next(_chunk([kept], settings.max_characters)))
    ]


def chunk_records(records: pl.DataFrame, settings: ChunkerSettings) -> pl.DataFrame:
    """Return the chunks of many records, in the records' order.

    Args:
        records: ``user_id``, ``agent_id``, ``source_key``, ``source_id`` (strings) and ``parts``, a list of
            ``{text, origin_class}`` in order.
        settings: what shapes chunks.

    Returns:
        The four key columns, ``chunk_index`` (Int32, from 0 within the record), ``content``, ``spans`` (JSON:
        ``[[start, end, origin class], ...]``) and ``origin_class``.
    """
    parts = (
        records.select("parts")
        .with_row_index("record")
        .filter(pl.col("parts").list.len() > 0)
        .explode("parts")
        .unnest("parts")
        .filter(pl.col("text").str.contains(r"\S"))
    )
    record, first_part = np.unique(parts["record"].to_numpy(), return_index=True)
    flat = list(zip(parts["text"].to_list(), parts["origin_class"].to_list(), strict=True))
    bounds = [*first_part.tolist(), len(flat)]
    counts, contents, spans, origin_classes = [], [], [], []
    kept = [flat[start:end] for start, end in pairwise(bounds)]
    for chunks in _chunk(kept, settings.max_characters):
        counts.append(len(chunks))
        for content, found in chunks:
            contents.append(content)
            spans.append(_as_json(found))
            origin_classes.append(least_trusted(found))
    count = np.array(counts, dtype=np.int64)
    first_chunk = np.cumsum(count) - count
    return records.select(_KEY)[np.repeat(record, count)].with_columns(
        pl.Series("chunk_index", np.arange(count.sum()) - np.repeat(first_chunk, count), dtype=pl.Int32),
        pl.Series("content", contents, dtype=pl.String),
        pl.Series("spans", spans, dtype=pl.String),
        pl.Series("origin_class", origin_classes, dtype=pl.String),
    )


def least_trusted(spans: Sequence[Span]) -> str:
    """Return the origin class that a text as a whole has: trust is not averaged."""
    return spans[0][2] if len(spans) == 1 else max((span[2] for span in spans), key=_TRUST.__getitem__)


def _chunk(records: Sequence[Sequence[Part]], limit: int) -> Iterator[list[tuple[str, list[Span]]]]:
    """Yield each record's chunks as content and spans; its parts must hold text."""
    texts = [_SEPARATOR.join([text for text, _ in parts]) for parts in records]
    long = [number for number, text in enumerate(texts) if len(text) > limit]
    pieces = split_texts([texts[number] for number in long], [_find_blocks(records[number]) for number in long], limit)
    for text, parts in zip(texts, records, strict=True):
        bounds = _bounds(parts)
        if len(text) <= limit:
            yield [(text, bounds)] if bounds else []
        else:
            yield [
                (piece.opening + text[piece.start : piece.end] + piece.closing, _spans(piece, bounds))
                for piece in next(pieces)
            ]


def _bounds(parts: Sequence[Part]) -> list[Span]:
    """Return where each part lies in its record's text."""
    bounds = []
    start = 0
    for text, origin_class in parts:
        end = start + len(text)
        bounds.append((start, end, origin_class))
        start = end + len(_SEPARATOR)
    return bounds


def _spans(piece: Piece, bounds: Sequence[Span]) -> list[Span]:
    """Return where each part lies in a piece's content."""
    shift = len(piece.opening) - piece.start
    first, last = piece.start, piece.end
    return [
        ((start if start > first else first) + shift, (end if end < last else last) + shift, origin_class)
        for start, end, origin_class in bounds
        if start < last and end > first
    ]


def _find_blocks(parts: Sequence[Part]) -> list[Block]:
    """Return the blocks of all parts, each read by itself: a fence that one leaves open is not open in the next."""
    blocks = []
    offset = 0
    for text, _ in parts:
        for start, head_end, tail_start, end, opening, closing in find_blocks(text):
            blocks.append(Block(start + offset, head_end + offset, tail_start + offset, end + offset, opening, closing))
        offset += len(text) + len(_SEPARATOR)
    return blocks


def _as_json(spans: Sequence[Span]) -> str:
    # Origin classes are plain words: nothing in them needs escaping.
    return "[" + ",".join([f'[{start},{end},"{origin_class}"]' for start, end, origin_class in spans]) + "]"
