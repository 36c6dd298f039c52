"""What forgotten texts, hashes and vectors look like in PostgreSQL's files. Pure.

A text lies there as its UTF-8, or compressed (pglz, LZ4). Both methods copy what they have not seen before as it is:
pglz eight bytes at a time, each eight after a byte of flags that are all 0, LZ4 in one piece. So the beginning of a
compressed text is known, byte by byte, as far as nothing in it repeats; one that repeats itself at once can't be told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orbit_pipelines.forgetting.traces import Traces

WINDOW = 48
"""Bytes of a text that are looked for at its beginning, in its middle and at its end."""

SHORTEST = 12
"""Bytes that a needle must have; shorter ones stand in too much that has nothing to do with it."""

_VECTOR = 128
_LITERAL = 64
_SHORTEST_LITERAL = 16
_PGLZ_REPEATS = 3
_LZ4_REPEATS = 4


class NeedleKind(StrEnum):
    """What a needle is of."""

    TEXT = "texts"
    HASH = "hashes"
    VECTOR = "vectors"


@dataclass(frozen=True, slots=True)
class Needle:
    """Bytes to look for, and the number of the text, hash or vector that they would show."""

    kind: NeedleKind
    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Needles:
    """Everything to look for. ``wanted``: kind → how many things; ``blind``: those that can't be looked for."""

    needles: tuple[Needle, ...]
    wanted: dict[NeedleKind, int]
    blind: dict[NeedleKind, int]


def make_needles(traces: Traces) -> Needles:
    """Return what to look for, of traces that were read from stored rows."""
    texts = [text_needles(content, is_compressed=content in traces.compressed) for content in traces.contents]
    hashes = [(each,) for each in sorted(traces.hashes)]
    vectors = [vector_needles(wire) for wire in traces.vectors]
    groups: dict[NeedleKind, Sequence[tuple[bytes, ...]]] = {
        NeedleKind.TEXT: texts,
        NeedleKind.HASH: hashes,
        NeedleKind.VECTOR: vectors,
    }
    return Needles(
        tuple(
            Needle(kind, number, data)
            for kind, things in groups.items()
            for number, spelled in enumerate(things)
            for data in spelled
        ),
        {kind: len(things) for kind, things in groups.items()},
        {kind: sum(not spelled for spelled in things) for kind, things in groups.items()},
    )


def text_needles(content: str, *, is_compressed: bool) -> tuple[bytes, ...]:
    """Return the bytes by which a text is found; none when it can't be.

    Args:
        content: the text.
        is_compressed: whether the server keeps it compressed, or may; else it lies there as it is.
    """
    data = content.encode()
    starts = [each for each in (pglz_start(data), literal_start(data, _LZ4_REPEATS)) if each is not None]
    if is_compressed and not starts:
        return ()
    spelled = [*windows(data), *starts] if is_compressed else windows(data)
    return tuple(dict.fromkeys(each for each in spelled if len(each) >= SHORTEST))


def windows(data: bytes) -> tuple[bytes, ...]:
    """Return the beginning, the middle and the end of some bytes: a large value lies in pieces, and one may be cut."""
    middle = max(0, len(data) // 2 - WINDOW // 2)
    return (data[:WINDOW], data[middle : middle + WINDOW], data[-WINDOW:])


def literal_start(data: bytes, repeats: int) -> bytes | None:
    """Return the beginning in which no ``repeats`` bytes stand twice: what a compressor must copy as it is.

    None when it is too short to tell anything.
    """
    seen: set[bytes] = set()
    end = min(len(data), _LITERAL)
    for position in range(end):
        gram = data[position : position + repeats]
        if gram in seen:
            end = position
            break
        seen.add(gram)
    return data[:end] if end >= _SHORTEST_LITERAL else None


def pglz_start(data: bytes) -> bytes | None:
    """Return the beginning of a text as pglz writes it; None when nothing of it is sure."""
    literal = literal_start(data, _PGLZ_REPEATS)
    if literal is None:
        return None
    whole = len(literal) // 8 * 8
    return b"".join(b"\0" + literal[at : at + 8] for at in range(0, whole, 8))


def vector_needles(wire: bytes) -> tuple[bytes, ...]:
    """Return the stored form of a vector, from its wire form: the same fields, little-endian; its beginning and end."""
    stored = swap_halves(wire)
    ends = (stored[:_VECTOR], stored[-_VECTOR:])
    return tuple(dict.fromkeys(each for each in ends if len(each) >= SHORTEST))


def swap_halves(data: bytes) -> bytes:
    """Return data of two-byte numbers in the other order of bytes."""
    swapped = bytearray(data)
    swapped[0::2], swapped[1::2] = data[1::2], data[0::2]
    return bytes(swapped)


def numbers_of(needles: Iterable[Needle]) -> dict[NeedleKind, set[int]]:
    """Return which things some needles are of."""
    numbers: dict[NeedleKind, set[int]] = {kind: set() for kind in NeedleKind}
    for needle in needles:
        numbers[needle.kind].add(needle.number)
    return numbers
