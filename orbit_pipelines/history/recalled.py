"""The markers around memory that is shown to an assistant inside a chat.

Whoever puts recalled memory into a message wraps it. The history keeps such a message as it was; pairing cuts the
block, so that memory never learns from itself.
"""

MARK = "[[orbit:recalled-memory"
"""How both markers begin, and nothing else: a text without it holds no block."""

BEGIN = f"{MARK} begin]]"
END = f"{MARK} end]]"
"""Whole lines of a block. No markup, so that no product escapes or renders them."""

_BROKEN_MARK = MARK.replace(":", ": ")


def wrap(text: str) -> str:
    """Return ``text`` as a block; a marker inside it is broken, so that it neither ends the block nor begins one."""
    return f"{BEGIN}\n{text.replace(MARK, _BROKEN_MARK)}\n{END}"
