"""What text must be so that PostgreSQL and an embedder accept it, and nothing more.

NUL and lone halves of surrogate pairs become U+FFFD, one for one, so that a reader sees that something stood there.
Everything else stays as it was: no normalisation, no trimming, so that the same export gives the same text for ever.
"""

import re

from orbit_pipelines.history.stream import Problems

LONGEST_SPACE = 256
"""A run of more white space than this is no layout; what memory is made of may leave out its middle."""

_RUN = re.compile(rf"\s{{{LONGEST_SPACE + 1}}}")

# Looking at every 32nd character finds nearly no text that has no such run, and takes no time.
_STEP = 32
_LIKELY = re.compile(rf"\s{{{LONGEST_SPACE // _STEP}}}")

LONGEST_ID = 256
"""Ids are keys, and an index row has a limit: what is longer than this is no id that a product would write."""


def clean_text(text: str) -> tuple[str, bool]:
    """Return ``text`` with what can't be stored replaced, and whether anything was."""
    cleaned = text.replace("\0", "\ufffd")
    try:
        cleaned.encode()
    except UnicodeEncodeError:
        # Halves that do belong together but came apart are joined again on the way.
        cleaned = cleaned.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return cleaned, cleaned != text


def storable(text: str, where: str, problems: Problems) -> str:
    """Return ``text`` cleaned; a text that had to be changed is reported as ``text_replaced`` at ``where``.

    So is one, as ``long_white_space``, that chunks may not give back whole.
    """
    cleaned, is_changed = clean_text(text)
    if is_changed:
        problems.add("text_replaced", where, "characters that can't be stored were replaced by U+FFFD")
    if len(cleaned) > LONGEST_SPACE and _LIKELY.search(cleaned[::_STEP]) and (run := _RUN.search(cleaned)):
        what = f"a run of {LONGEST_SPACE:,} or more white-space characters after character {run.start():,}"
        problems.add("long_white_space", where, f"{what}; it is kept, but memory may leave out its middle")
    return cleaned


def usable_id(value: object) -> str | None:
    """Return an export's own id as text, or None where it is missing, empty, too long or no id at all."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and abs(value) >= 10**40:
        return None
    identifier, _ = clean_text(str(value))
    return identifier if 0 < len(identifier) <= LONGEST_ID and not identifier.isspace() else None
