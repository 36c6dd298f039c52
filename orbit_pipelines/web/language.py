"""In which language and zone a page is: the account's, else the browser's."""

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

from babel import Locale, negotiate_locale
from babel.dates import format_date, format_datetime
from markupsafe import Markup
from starlette.requests import Request

from orbit_pipelines.telling.wording import LOCALES

LANGUAGE_COOKIE = "orbit_language"
ZONE_COOKIE = "orbit_zone"

LANGUAGES = {"en": "English", "fr": "Français"}
"""What each language calls itself."""


def language_of(request: Request, chosen: str | None) -> str:
    """Return the language of a page.

    Args:
        request: its cookie, set by somebody without an account, comes next; then what the browser prefers.
        chosen: the account's, which comes first where it is one of ours.
    """
    for wanted in (chosen, request.cookies.get(LANGUAGE_COOKIE)):
        language = (wanted or "").replace("_", "-").partition("-")[0].lower()
        if language in LOCALES:
            return language
    return negotiate_locale(_accepted(request.headers.get("accept-language", "")), LOCALES, sep="-") or LOCALES[0]


def zone_of(request: Request, chosen: str | None) -> ZoneInfo:
    """Return the zone of a page's dates: the account's, else the browser's, else UTC."""
    for wanted in (chosen, request.cookies.get(ZONE_COOKIE)):
        if known_zone(wanted) is not None:
            return ZoneInfo(str(wanted))
    return ZoneInfo("UTC")


def known_zone(name: str | None) -> str | None:
    """Return the name of a zone if there is one of that name, else None."""
    return name if name in available_timezones() else None


def shown_moment(language: str, zone: ZoneInfo) -> Callable[[datetime | None], str]:
    """Return what turns a moment into its ``<time>`` element, in a language and a zone; no moment into nothing."""
    locale = Locale.parse(language)

    def show(moment: datetime | None) -> str:
        if moment is None:
            return ""
        text = format_datetime(moment, "medium", tzinfo=zone, locale=locale)
        return Markup('<time datetime="{}">{}</time>').format(moment.astimezone(UTC).isoformat(), text)

    return show


def shown_day(language: str, zone: ZoneInfo) -> Callable[[datetime | None], str]:
    """Return what turns a moment into its day, as a ``<time>`` element."""
    locale = Locale.parse(language)

    def show(moment: datetime | None) -> str:
        if moment is None:
            return ""
        day = moment.astimezone(zone).date()
        return Markup('<time datetime="{}">{}</time>').format(day.isoformat(), format_date(day, "long", locale=locale))

    return show


def _accepted(header: str) -> list[str]:
    """Return the languages that a browser takes, the most wanted first."""
    weighed = []
    for place, part in enumerate(header.split(",")):
        language, _, parameters = part.strip().partition(";")
        _, _, quality = parameters.strip().partition("q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            continue
        if language and weight > 0:
            weighed.append((-weight, place, language))
    return [language.partition("-")[0].lower() for _, _, language in sorted(weighed)]
