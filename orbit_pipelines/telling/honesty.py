"""What a reply says when a question touches a source that memory doesn't have: the words of Memory Status.

A source that was left out since the last build is in memory until the next, and one that was included since is not yet.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Store
from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.telling.wording import LOCALES, Wording, catalogue

_TOUCHES = "touches."


def honesty_note(
    statuses: Sequence[SourceStatus], built: Mapping[str, bool], question: str, wording: Wording
) -> str | None:
    """Return the note for a question, or None when every source it touches is included, and was when memory was built.

    Args:
        statuses: the person's sources, as ``resolve_build_sources`` returns them.
        built: what ``read_built_sources`` returns.
        question: what they asked, in any of the catalogue's languages.
        wording: the words of the reply's language.
    """
    # Where the cap leaves a source out, the included ones have filled it.
    limit = sum(status.is_included for status in statuses)
    touched = touched_sources(question)
    told: dict[str, list[str]] = {"honesty.note": [], "honesty.leaving": [], "honesty.coming": []}
    for status in statuses:
        if status.source_key not in touched:
            continue
        if status.reason is not None:
            kind = "honesty.leaving" if built.get(status.source_key) else "honesty.note"
            told[kind].append(wording.source_reason(status.source_key, status.reason, limit=limit))
        elif status.source_key not in built:
            told["honesty.coming"].append(wording.source(status.source_key))
    return " ".join(wording(kind, why="; ".join(why)) for kind, why in told.items() if why) or None


def read_built_sources(connection: psycopg.Connection[Any], store: Store) -> Mapping[str, bool]:
    """Return the sources that the last build included for the store's person, and whether it has anything of each."""
    found = connection.execute(statement("read_built_sources"), {"user_id": store.user_id, "agent_id": store.agent_id})
    return dict(found.fetchall())


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
