"""One rule for the times that exports write: any known form in, UTC or None out.

The machine's time zone plays no part: a time without a zone is UTC. Nothing is invented: what can't be a moment of a
chat (zero, 1970, the year 9999, nonsense) is None, and whoever reads it keeps the order of the thread instead.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from orbit_pipelines.history.stream import Problems

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)

# Between the earliest and the latest moment allowed, a number tells its own unit: the ranges don't touch.
_UNITS = ((1, 10**10 * 2), (10**3, 10**13 * 2), (10**6, 10**16 * 2), (10**9, 10**19 * 2))

_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{0,20})?", re.ASCII)
_MAIL = re.compile(
    r"(?:[a-z]{3,9},?\s+)?[0-9]{1,2}[\s-][a-z]{3}[\s-][0-9]{4}\s+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
    r"\s+(?:[+-][0-9]{4}|GMT|UTC?|Z|[ECMP][SD]T)(?:\s*\([^()]*\))?",
    re.IGNORECASE | re.ASCII,
)
"""A date as mail and HTTP write it, with a zone that says what it is."""

_NAMED_UTC = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)


def to_utc(value: object) -> datetime | None:
    """Return the moment that ``value`` names, in UTC; None when it names none between 1971 and 2199.

    Numbers and strings of digits count seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by
    their size. Other strings are ISO 8601, with ``T`` or a space, with a zone or taken as UTC, or dates as mail has
    them. MongoDB's extended JSON wraps any of these.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if isinstance(value, datetime):
        return _plausible(value)
    if isinstance(value, str):
        return _from_string(value.strip())
    if isinstance(value, dict):
        wrapped = next((value[key] for key in _WRAPPERS if key in value), None)
        return to_utc(wrapped)
    return None


_WRAPPERS = ("$date", "$numberLong", "$numberDouble", "$numberInt")


def read_time(where: str, problems: Problems, *values: object) -> datetime | None:
    """Return the first moment that ``values`` name; where none of them does, those that say something are reported."""
    for value in values:
        moment = to_utc(value)
        if moment is not None:
            return moment
    # Zero is how many products write that they know no time.
    if any(value.strip() if isinstance(value, str) else value for value in values):
        problems.add("unread_time", where, "a time that can't be read; it has none now")
    return None


def _from_number(number: int | float) -> datetime | None:
    if not 0 < number < _UNITS[-1][1]:
        return None
    for per_second, limit in _UNITS:
        if number < limit:
            # Whole numbers stay whole, so that no digit of a microsecond is lost to a float.
            if isinstance(number, int):
                return _plausible(_EPOCH + timedelta(microseconds=number * 10**6 // per_second))
            return _plausible(_EPOCH + timedelta(seconds=number / per_second))
    return None


def _from_string(text: str) -> datetime | None:
    if _NUMBER.fullmatch(text):
        moment = _from_number(float(text) if "." in text else int(text))
        if moment is not None:
            return moment
    try:
        return _plausible(datetime.fromisoformat(_NAMED_UTC.sub("+00:00", text)))
    except ValueError:
        pass
    try:
        return _plausible(parsedate_to_datetime(text)) if _MAIL.fullmatch(text) else None
    except ValueError:
        return None


def _plausible(moment: datetime) -> datetime | None:
    try:
        in_utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
    return in_utc if _EARLIEST <= in_utc < _LATEST else None
