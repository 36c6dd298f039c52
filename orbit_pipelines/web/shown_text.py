"""A text as people read it: blocks of recalled memory stand apart, each under the heading that is true of it.

What is never learned stands between one pair of markers, whatever it is. A block whose first line is one of the offline
responder's own headings is told by that line; any other is memory that was recalled.
"""

from dataclasses import dataclass
from functools import cache

from orbit_pipelines.history.recalled import parts
from orbit_pipelines.telling.wording import LOCALES, Wording

_HEADINGS = ("offline.from_memory", "offline.from_thread")
_OF_ITSELF = ("offline.introduction",)


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A stretch of a text; ``heading`` is None but above a quotation."""

    text: str
    heading: str | None = None


def shown_text(text: str, wording: Wording) -> tuple[ShownPart, ...]:
    """Return a text's stretches in order, without a marker in them."""
    shown = []
    for part in parts(text):
        said = part.text.strip()
        first, _, rest = said.partition("\n")
        if not part.is_recalled or first in own_beginnings():
            shown.append(ShownPart(said))
        elif first in own_headings():
            shown.append(ShownPart(rest.strip(), first))
        else:
            shown.append(ShownPart(said, wording("chat.recalled")))
    return tuple(shown)


@cache
def own_headings() -> tuple[str, ...]:
    """Return the first lines of blocks that quote, in every language: a reply keeps the one it was made in."""
    return _in_every_language(_HEADINGS)


@cache
def own_beginnings() -> tuple[str, ...]:
    """Return the first lines of blocks in which a responder speaks of itself, and quotes nothing."""
    return _in_every_language(_OF_ITSELF)


def _in_every_language(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(Wording(locale)(key) for key in keys for locale in LOCALES)
