"""What a reply says when a question touches a source that memory doesn't have: the words of Memory Status."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.telling.wording import LOCALES, Wording, catalogue

_TOUCHES = "touches."


def honesty_note(statuses: Sequence[SourceStatus], question: str, wording: Wording) -> str | None:
    """Return the note for a question, or None when every source it touches is included.

    Args:
        statuses: the person's sources, as ``resolve_build_sources`` returns them.
        question: what they asked, in any of the catalogue's languages.
        wording: the words of the reply's language.
    """
    # Where the cap leaves a source out, the included ones have filled it.
    limit = sum(status.is_included for status in statuses)
    touched = touched_sources(question)
    reasons = [
        wording.source_reason(status.source_key, status.reason, limit=limit)
        for status in statuses
        if status.reason is not None and status.source_key in touched
    ]
    return wording("honesty.note", why="; ".join(reasons)) if reasons else None


def touched_sources(question: str) -> frozenset[str]:
    """Return the sources that a question speaks of, by the catalogue's words, in every language."""
    plain = _plain(question)
    return frozenset(source_key for source_key, spoken_of in _patterns().items() if spoken_of.search(plain))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    words_by_source = {
        key.removeprefix(_TOUCHES): [_plain(word) for locale in LOCALES for word in forms[locale]["other"].split(", ")]
        for key, forms in catalogue().items()
        if key.startswith(_TOUCHES)
    }
    return {key: re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b") for key, words in words_by_source.items()}


def _plain(text: str) -> str:
    """Return a text without case, accents and kinds of apostrophe."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    return "".join(each for each in decomposed if not unicodedata.combining(each))
