"""Who looks at a page: dependencies that give an endpoint its visitor, with a transaction that sees only their rows.

A transaction ends before the answer is sent, so that whoever follows a redirect finds what was written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo

import psycopg
from fastapi import Depends, HTTPException, Request, status
from psycopg.rows import class_row

from orbit_pipelines.telling.notice import GUEST_NOTICE, Notice, notice_for
from orbit_pipelines.telling.wording import Wording
from orbit_pipelines.web.database import PostgresConnection
from orbit_pipelines.web.language import language_of, zone_of
from orbit_pipelines.web.proxies import user_named_by_proxy
from orbit_pipelines.web.signing_in import SECONDS_SIGNED_IN
from orbit_pipelines.web.site import Site, site_of

USER, SIGN_IN_ID = "user", "sign_in"
"""What the session cookie says of somebody who has signed in."""

_KNOWN = "known"
"""Whom the proxy has named before; it signs nobody in."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is signed in."""

    user_id: str
    plan_key: str | None
    locale: str
    time_zone: str | None
    is_admin: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """One request and whose it is; ``person`` is None for a guest.

    ``database`` is the person's transaction; None for guests, on error pages, and where an endpoint opens its own.
    """

    request: Request
    site: Site
    person: Person | None
    database: PostgresConnection | None = None

    @property
    def language(self) -> str:
        """The language of what is shown."""
        return language_of(self.request, self.person.locale if self.person else None)

    @property
    def wording(self) -> Wording:
        """The words of that language."""
        return Wording(self.language)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of the dates that are shown."""
        return zone_of(self.request, self.person.time_zone if self.person else None)

    @property
    def user(self) -> Person:
        """The person, where an endpoint has asked for one.

        Raises:
            HTTPException: 401, a guest.
        """
        if self.person is None:
            raise HTTPException(status.HTTP_401_UNAUTHORIZED)
        return self.person

    @property
    def connection(self) -> PostgresConnection:
        """The person's transaction, where an endpoint has asked for one.

        Raises:
            HTTPException: 401, a guest.
        """
        if self.database is None:
            raise HTTPException(status.HTTP_401_UNAUTHORIZED)
        return self.database

    def notice(self) -> Notice | None:
        """Return the line under the composer, in one query."""
        if self.person is None:
            return GUEST_NOTICE
        if self.database is not None:
            return notice_for(self.database, self.person.user_id)
        with self.site.database.acting_for(self.person.user_id) as connection:
            return notice_for(connection, self.person.user_id)


def _visit(request: Request) -> Iterator[Visit]:
    """Give the visitor with their transaction, which commits when the endpoint has returned."""
    with open_visit(request) as visit:
        yield visit


def _signed_in(visit: Annotated[Visit, Depends(_visit, scope="function")]) -> Visit:
    """Give the visitor if they are signed in.

    Raises:
        HTTPException: 401, a guest.
    """
    if visit.person is None:
        raise HTTPException(status.HTTP_401_UNAUTHORIZED)
    return visit


def _administrator(visit: Annotated[Visit, Depends(_signed_in, scope="function")]) -> Visit:
    """Give the visitor if they administer the installation.

    Raises:
        HTTPException: 401, a guest; 403, somebody else.
    """
    if not visit.user.is_admin:
        raise HTTPException(status.HTTP_403_FORBIDDEN)
    return visit


def _brief_visit(request: Request) -> Visit:
    """Give the visitor without a transaction, to an endpoint that takes long or opens several."""
    with open_visit(request) as visit:
        return Visit(request, visit.site, visit.person)


AnyVisit = Annotated[Visit, Depends(_visit, scope="function")]
SignedIn = Annotated[Visit, Depends(_signed_in, scope="function")]
Administrator = Annotated[Visit, Depends(_administrator, scope="function")]
BriefVisit = Annotated[Visit, Depends(_brief_visit)]


@contextmanager
def open_visit(request: Request) -> Iterator[Visit]:
    """Find out whose request it is, and open the person's transaction."""
    site = site_of(request)
    request.state.person = None
    named = user_named_by_proxy(request, site.settings)
    user_id = request.session.get(USER) if site.settings.web_trusted_header is None else named
    if not isinstance(user_id, str):
        yield Visit(request, site, None)
        return
    if named:
        _make_account_of_proxy(site, request, named)
    with site.database.acting_for(user_id) as connection:
        person = read_person(connection, user_id, None if named else request.session.get(SIGN_IN_ID, ""))
        if person is None:
            yield Visit(request, site, None)
            return
        request.state.person = person
        yield Visit(request, site, person, connection)


def read_person(
    connection: psycopg.Connection[tuple[object, ...]], user_id: str, sign_in_id: str | None
) -> Person | None:
    """Return the account as pages need it, None where there is none (any more), or its sign-in has ended.

    Args:
        connection: acting for the person.
        user_id: who it is said to be.
        sign_in_id: what the session cookie says; None where a proxy answers for the person.
    """
    with connection.cursor(row_factory=class_row(Person)) as cursor:
        return cursor.execute(
            "select user_id, plan_key, locale, time_zone, is_admin from orbitpilot.account as account"
            " where user_id = %(user_id)s"
            "   and (%(sign_in_id)s::text is null"
            "        or exists (select from orbitpilot.sign_in as sign_in"
            "                    where sign_in.user_id = account.user_id"
            "                      and sign_in.sign_in_id::text = %(sign_in_id)s"
            "                      and sign_in.began_at > now() - make_interval(secs => %(lasting)s)))",
            {"user_id": user_id, "sign_in_id": sign_in_id, "lasting": SECONDS_SIGNED_IN},
        ).fetchone()


def _make_account_of_proxy(site: Site, request: Request, user_id: str) -> None:
    """Make the account of somebody whom the proxy names for the first time; they have no password here."""
    if request.session.get(_KNOWN) == user_id:
        return
    with site.database.acting_for_nobody() as connection:
        connection.execute("select orbitpilot.sign_up(%s, null, %s, null)", [user_id, language_of(request, None)])
    request.session[_KNOWN] = user_id
