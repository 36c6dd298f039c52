"""The catalogue of wordings: every sentence that pages and replies have for memory, in English and French.

The words stand in ``wordings/*.toml``, both languages of a key side by side. ``{name}`` in a wording is filled in by
whoever says it; a wording with ``one`` and ``other`` is chosen by the number ``count``.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from babel import Locale
from babel.numbers import format_decimal

from orbit_pipelines.model import Reason

LOCALES = ("en", "fr")
_OF_SOURCES = (Reason.SOURCE_SWITCHED_OFF, Reason.SOURCE_NOT_ASSIGNED, Reason.SOURCE_OVER_CAP)

Forms = Mapping[str, str]
"""Plural category → text; a wording without plural forms has only ``other``."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language; called with a key, it says it."""

    locale: str

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the wording of a key with its values filled in; whole numbers as the language writes them.

        Raises:
            KeyError: the catalogue has no such key, or the wording wants a value that wasn't given.
        """
        forms = catalogue()[key][self.locale]
        count = values.get("count")
        category = Locale.parse(self.locale).plural_form(count) if isinstance(count, int) else "other"
        return forms.get(category, forms["other"]).format(**{name: self._shown(each) for name, each in values.items()})

    def reason(self, reason: Reason, *, limit: int = 0) -> str:
        """Return why something is not in memory, as part of a sentence; ``limit`` is the plan's cap."""
        return self(f"reason.{reason.value}", count=limit)

    def why_out(self, source_key: str, reason: Reason, *, limit: int = 0) -> str:
        """Return why a record is not in memory, as a sentence of its own; a source's reason names the source."""
        if reason in _OF_SOURCES:
            return self.source_reason(source_key, reason, limit=limit)
        return as_sentence(self.reason(reason, limit=limit))

    def source_reason(self, source_key: str, reason: Reason, *, limit: int = 0, title: str | None = None) -> str:
        """Return why a source is not included: the same words in the notice, on pages and in replies."""
        named = self.source(source_key, title)
        return self("reason.of_source", source=named, reason=self.reason(reason, limit=limit))

    def source(self, source_key: str, title: str | None = None) -> str:
        """Return what a source is called: by the catalogue if it ships with the project, else by its own title."""
        key = f"source.{source_key}"
        return self(key) if key in catalogue() else title or source_key

    def _shown(self, value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            return format_decimal(value, locale=self.locale)
        return value


def as_sentence(words: str) -> str:
    """Return words with a capital at their beginning."""
    return words[:1].upper() + words[1:]


def wording_for(locale: str | None) -> Wording:
    """Return the words for a locale such as ``fr``, ``fr-CA`` or ``fr_BE``; English for one that isn't there."""
    language = (locale or "").replace("_", "-").split("-")[0].lower()
    return Wording(language if language in LOCALES else LOCALES[0])


@cache
def catalogue() -> Mapping[str, Mapping[str, Forms]]:
    """Return key → locale → forms, from every file of ``wordings/``."""
    found: dict[str, Mapping[str, Forms]] = {}
    for file in sorted(files("orbit_pipelines.telling").joinpath("wordings").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            found.update(_entries(tomllib.loads(file.read_text("utf-8"))))
    return found


def _entries(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Forms]]]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        if LOCALES[0] in value:
            yield key, {locale: {"other": text} if isinstance(text, str) else text for locale, text in value.items()}
        else:
            yield from _entries(value, f"{key}.")
