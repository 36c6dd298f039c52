"""What a session, or an account, was called when builds decided about it; before and after, the name may be another's.

Times are of the clock, so a build that overlaps a change of names counts for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.model import Store


@dataclass(frozen=True, slots=True)
class FormerName:
    """What a message's session was called ``until`` then; None where that isn't known.

    Where it was another person's (``was_anothers``) nothing of the name is told. That of an account alone, for what was
    decided about a person, has no agent and no session.
    """

    user_id: str | None
    agent_id: str | None
    session_id: str | None
    until: datetime | None
    was_anothers: bool = False


@dataclass(frozen=True, slots=True)
class Period:
    """When something had a name: None where it had it from the beginning, or has it still, or that isn't known."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A name, and when others had it that are called otherwise now.

    ``told``: what may be said of it; None for the present one.
    """

    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    period: Period = Period()
    told: FormerName | None = None
    others: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """That a build found something under the name at a place among others; at 0 stands the present one.

    ``is_ending``: what memory had under the name, or had left out, is so no more.
    """

    place: int
    build_id: int
    started_at: datetime
    published_at: datetime | None
    is_ending: bool = False


def read_session_names(connection: psycopg.Connection[Any], store: Store, session_id: str) -> list[Name]:
    """Return the session's present name, and those it had before with the newest first."""
    asked = {"user": store.user_id, "agent": store.agent_id, "session": session_id}
    names: dict[tuple[str, str, str], Name] = {}
    for user, agent, session, since, until, is_of_other in _rows(connection, "read_session_names", asked):
        told = FormerName(None, None, None, until, True) if is_of_other else FormerName(user, agent, session, until)
        names.setdefault(
            (user, agent, session),
            Name(user, agent, session, Period(since, until), told if names else None),
        )
    users, agents, sessions = map(list, zip(*names, strict=True))
    own = {"users": users, "agents": agents, "sessions": sessions}
    return _with_others(list(names.values()), _rows(connection, "read_others_of_session_names", own))


def read_account_names(connection: psycopg.Connection[Any], user_id: str) -> list[Name]:
    """Return the account's present name, and those it had before with the newest first."""
    names = [Name(user_id)]
    for user, since, until in _rows(connection, "read_account_names", {"user": user_id}):
        names.append(Name(user, None, None, Period(since, until), FormerName(user, None, None, until)))
    own = {"users": [name.user_id for name in names]}
    return _with_others(names, _rows(connection, "read_others_of_account_names", own))


def _rows(connection: psycopg.Connection[Any], query: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement(query), parameters).fetchall()


def _with_others(names: Sequence[Name], others: Sequence[tuple[Any, ...]]) -> list[Name]:
    return [
        replace(name, others=tuple(Period(since, until) for at, since, until in others if at == place))
        for place, name in enumerate(names)
    ]


def are_ours(sightings: Sequence[Sighting], names: Sequence[Name]) -> list[bool]:
    """Return of each sighting whether it is of what has these names, and not of another that was called so. Pure.

    The first build that comes to a name after it was left ends what was there; whatever else it does there, and later
    ones do, is about another that took the name. Under the present name, what happened while it was called otherwise,
    and while another was called so, is another's.

    Args:
        sightings: in the order of publishing.
        names: the present one first.
    """
    former = [name.period for name in names[1:]]
    ours = [False] * len(sightings)
    for place, name in enumerate(names):
        at_place = [number for number, sighting in enumerate(sightings) if sighting.place == place]
        there = [sightings[number] for number in at_place]
        if name is names[0]:
            is_here = [not any(_is_within(sighting, other) for other in former) for sighting in there]
        else:
            is_here = [_overlaps(sighting, name.period) for sighting in there]
        is_ours = _with_endings(there, is_here)
        for other in name.others:
            is_theirs = _with_endings(there, [_is_within(sighting, other) for sighting in there])
            is_ours = [own and not another for own, another in zip(is_ours, is_theirs, strict=True)]
        for number, own in zip(at_place, is_ours, strict=True):
            ours[number] = own
    return ours


def _with_endings(sightings: Sequence[Sighting], is_here: Sequence[bool]) -> list[bool]:
    """Return what is of somebody who was here at some builds.

    Of a build that finds them come, what it ended is of who was here before; of the first that finds them gone, theirs.
    """
    of_them = []
    was_here: bool | None = None
    comes_in = goes_in = None
    for sighting, is_now in zip(sightings, is_here, strict=True):
        if is_now and was_here is False:
            comes_in = sighting.build_id
        if was_here and not is_now:
            goes_in = sighting.build_id
        was_here = is_now
        if is_now:
            of_them.append(not (sighting.is_ending and sighting.build_id == comes_in))
        else:
            of_them.append(sighting.is_ending and sighting.build_id == goes_in)
    return of_them


def _overlaps(sighting: Sighting, period: Period) -> bool:
    has_come = period.since is None or _end(sighting) >= period.since
    return has_come and (period.until is None or sighting.started_at <= period.until)


def _is_within(sighting: Sighting, period: Period) -> bool:
    has_come = period.since is None or sighting.started_at >= period.since
    return period.until is not None and has_come and _end(sighting) < period.until


def _end(sighting: Sighting) -> datetime:
    return sighting.published_at or sighting.started_at
