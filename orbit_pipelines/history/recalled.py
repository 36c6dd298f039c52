"""The markers around memory that is shown to an assistant inside a chat.

Whoever puts recalled memory into a message wraps it. The history keeps such a message as it was; pairing cuts the
block, so that memory never learns from itself.
"""

import re
from dataclasses import dataclass

MARK = "[[orbit:recalled-memory"
"""How both markers begin, and nothing else."""

BEGIN = f"{MARK} begin]]"
END = f"{MARK} end]]"
"""Whole lines of a block. No markup, so that few products escape or render them."""

_MARK_PATTERN = r"\\*\[\\*\[[ \t]*orbit\\*:recalled\\*-memory"
BEGIN_PATTERN = rf"(?i:(?:>[ \t]?)*{_MARK_PATTERN}[ \t]+begin[ \t]*\\*\]\\*\])"
END_PATTERN = rf"(?i:{_MARK_PATTERN}[ \t]+end[ \t]*\\*\]\\*\])"
"""The markers as they come back from a product: escaped for Markdown, quoted, in other letters. For ``re`` and Rust."""

_MARKERS = re.compile(f"({BEGIN_PATTERN}|{END_PATTERN})")
_BEGIN = re.compile(BEGIN_PATTERN)
_BREAKABLE = re.compile(rf"(?i)({_MARK_PATTERN.partition(':')[0]}:)(?=recalled)")


def wrap(text: str) -> str:
    """Return ``text`` as a block; a marker inside it is broken, so that it neither ends the block nor begins one."""
    broken = _BREAKABLE.sub(r"\1 ", text)
    return f"{BEGIN}\n{broken}\n{END}"


def cut(text: str) -> str:
    """Return ``text`` without its blocks, as pairing cuts them: what is left stands in paragraphs of its own."""
    return "\n\n".join(part.text.strip() for part in parts(text) if not part.is_recalled and part.text.strip())


def beginning(text: str, longest: int) -> str:
    """Return how ``text`` begins where it recalls nothing, for a list; empty where all of it was recalled."""
    own = cut(text)
    return own if len(own) <= longest else f"{own[:longest].rstrip()}…"


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a text, recalled memory or not; no marker is in it."""

    text: str
    is_recalled: bool


def parts(text: str) -> tuple[Part, ...]:
    """Return a text's stretches in order. In doubt more is recalled: a block that isn't closed reaches to the end."""
    found: list[Part] = []
    depth = 0
    for place, piece in enumerate(_MARKERS.split(text)):
        if place % 2 and _BEGIN.fullmatch(piece):
            depth += 1
        elif place % 2:
            if depth == 0:
                # Its beginning is missing: whatever stood before may have been recalled.
                found = [Part("".join(part.text for part in found), is_recalled=True)] if found else []
            depth = max(depth - 1, 0)
        elif piece.strip():
            found.append(Part(piece, is_recalled=depth > 0))
    return tuple(found)
