"""Signing up, in and out; a person's language, zone and password."""

import re
from typing import Annotated
from zoneinfo import available_timezones

from fastapi import APIRouter, Form, HTTPException, Request, status
from starlette.responses import Response

from orbit_pipelines.errors import UsageError
from orbit_pipelines.telling.wording import LOCALES
from orbit_pipelines.web.csrf import renew_csrf_token
from orbit_pipelines.web.language import LANGUAGE_COOKIE, known_zone
from orbit_pipelines.web.passwords import LONGEST, SHORTEST, hash_password
from orbit_pipelines.web.rendering import local_page, redirect, render
from orbit_pipelines.web.signing_in import Refused, sign_in, sign_up
from orbit_pipelines.web.signing_in import SignedIn as Accepted
from orbit_pipelines.web.urls import ACCOUNT, CHAT
from orbit_pipelines.web.visits import SIGN_IN_ID, USER, AnyVisit, BriefVisit, SignedIn, Visit

router = APIRouter()

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{2,63}")
"""User ids that people choose here; whoever administers the database may give others."""

SECONDS_A_YEAR = 365 * 24 * 60 * 60

Given = Annotated[str, Form()]


@router.get("/sign-in/")
def sign_in_page(visit: AnyVisit, next: str | None = None) -> Response:
    """Show the form."""
    _require_own_accounts(visit)
    return _sign_in_form(visit, next)


@router.post("/sign-in/")
def sign_in_form(
    visit: BriefVisit,
    request: Request,
    user: Given = "",
    password: Given = "",
    time_zone: Given = "",
    next: Given = "",
) -> Response:
    """Sign somebody in and lead them to where they wanted to go."""
    _require_own_accounts(visit)
    found = sign_in(visit.site, user.strip(), password, _address(request))
    if isinstance(found, Refused):
        return _refuse(visit, "sign_in.html", found, "sign_in.wrong", user=user, next=next)
    _begin(request, found)
    _keep_zone(visit, found.user_id, time_zone)
    return redirect(local_page(next, CHAT))


@router.get("/sign-up/")
def sign_up_page(visit: AnyVisit) -> Response:
    """Show the form."""
    _require_sign_up(visit)
    return _sign_up_form(visit)


@router.post("/sign-up/")
def sign_up_form(
    visit: BriefVisit, request: Request, user: Given = "", password: Given = "", time_zone: Given = ""
) -> Response:
    """Make an account and sign its person in."""
    _require_sign_up(visit)
    name = user.strip().lower()
    if not NAME.fullmatch(name):
        return _sign_up_form(visit, "sign_up.bad_name", user)
    try:
        made = sign_up(
            visit.site,
            name,
            password,
            _address(request),
            language=visit.language,
            time_zone=known_zone(time_zone),
        )
    except UsageError:
        return _sign_up_form(visit, "sign_up.bad_password", user)
    if isinstance(made, Accepted):
        _begin(request, made)
        return redirect(CHAT)
    if made is None:
        return _sign_up_form(visit, "sign_up.taken", user)
    return _refuse(visit, "sign_up.html", made, "sign_up.taken", user=user)


@router.post("/sign-out/")
def sign_out(visit: AnyVisit, request: Request) -> Response:
    """End this browser's session, wherever else its cookie may be."""
    if visit.person is not None:
        visit.connection.execute(
            "delete from orbitpilot.sign_in where user_id = %s and sign_in_id::text = %s",
            [visit.person.user_id, request.session.get(SIGN_IN_ID, "")],
        )
    request.session.clear()
    return redirect(CHAT)


@router.post("/language/")
def choose_language(visit: AnyVisit, language: Given, next: Given = "") -> Response:
    """Change the language: of the account, or of the browser where nobody is signed in."""
    if language not in LOCALES:
        raise HTTPException(status.HTTP_400_BAD_REQUEST)
    answer = redirect(local_page(next, CHAT))
    if visit.person is None:
        answer.set_cookie(
            LANGUAGE_COOKIE,
            language,
            max_age=SECONDS_A_YEAR,
            httponly=True,
            samesite="lax",
            secure=visit.site.settings.web_https,
        )
    else:
        visit.connection.execute(
            "update orbitpilot.account set locale = %s where user_id = %s", [language, visit.person.user_id]
        )
    return answer


@router.get("/account/")
def account(visit: SignedIn, saved: bool = False) -> Response:
    """Show what a person may change of their account."""
    return _account_form(visit, "account.saved" if saved else None)


@router.post("/account/")
def change_account(visit: SignedIn, language: Given, time_zone: Given = "") -> Response:
    """Change language and zone; no zone means the browser's."""
    if language not in LOCALES or (time_zone and known_zone(time_zone) is None):
        raise HTTPException(status.HTTP_400_BAD_REQUEST)
    visit.connection.execute(
        "update orbitpilot.account set locale = %s, time_zone = %s where user_id = %s",
        [language, time_zone or None, visit.user.user_id],
    )
    return redirect(f"{ACCOUNT}?saved=1")


@router.post("/account/password/")
def change_password(visit: BriefVisit, request: Request, password: Given, new_password: Given) -> Response:
    """Change the password, and end every other session."""
    _require_own_accounts(visit)
    person = visit.user
    found = sign_in(visit.site, person.user_id, password, _address(request))
    if isinstance(found, Refused):
        return _refuse(visit, "account.html", found, "account.wrong_password", zones=sorted(available_timezones()))
    try:
        password_hash = hash_password(new_password)
    except UsageError:
        return _account_form(visit, "sign_up.bad_password", status.HTTP_400_BAD_REQUEST)
    with visit.site.database.acting_for(person.user_id) as connection:
        row = connection.execute("select orbitpilot.change_own_password(%s)", [password_hash]).fetchone()
    _begin(request, Accepted(person.user_id, str(row[0]) if row else ""))
    return redirect(f"{ACCOUNT}?saved=1")


@router.post("/account/sign-out-everywhere/")
def sign_out_everywhere(visit: SignedIn, request: Request) -> Response:
    """End this session and every other one."""
    visit.connection.execute("delete from orbitpilot.sign_in where user_id = %s", [visit.user.user_id])
    request.session.clear()
    return redirect(CHAT)


def _begin(request: Request, who: Accepted) -> None:
    """Sign a browser in; nothing of the session before is kept."""
    request.session.clear()
    renew_csrf_token(request)
    request.session.update({USER: who.user_id, SIGN_IN_ID: who.sign_in_id})


def _keep_zone(visit: Visit, user_id: str, time_zone: str) -> None:
    """Take the browser's zone for an account that has none."""
    if known_zone(time_zone) is not None:
        with visit.site.database.acting_for(user_id) as connection:
            connection.execute(
                "update orbitpilot.account set time_zone = %s where user_id = %s and time_zone is null",
                [time_zone, user_id],
            )


def _require_own_accounts(visit: Visit) -> None:
    if visit.site.settings.web_trusted_header is not None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)


def _require_sign_up(visit: Visit) -> None:
    _require_own_accounts(visit)
    if not visit.site.settings.web_sign_up:
        raise HTTPException(status.HTTP_404_NOT_FOUND)


def _sign_in_form(visit: Visit, next_page: str | None) -> Response:
    return render(visit, "sign_in.html", problem=None, user="", next=local_page(next_page, CHAT))


def _sign_up_form(visit: Visit, problem: str | None = None, user: str = "") -> Response:
    return render(
        visit,
        "sign_up.html",
        status_code=status.HTTP_200_OK if problem is None else status.HTTP_400_BAD_REQUEST,
        problem=None if problem is None else visit.wording(problem, shortest=SHORTEST, longest=LONGEST),
        user=user,
    )


def _account_form(visit: Visit, told: str | None, code: int = status.HTTP_200_OK) -> Response:
    said = None if told is None else visit.wording(told, shortest=SHORTEST, longest=LONGEST)
    return render(
        visit,
        "account.html",
        status_code=code,
        problem=said if code != status.HTTP_200_OK else None,
        saved=code == status.HTTP_200_OK and said,
        zones=sorted(available_timezones()),
    )


def _refuse(visit: Visit, template: str, refused: Refused, wrong: str, **context: object) -> Response:
    """Show a form again with what is wrong; too many attempts tell when to come back."""
    if refused.seconds is None:
        told, code = visit.wording(wrong, shortest=SHORTEST, longest=LONGEST), status.HTTP_401_UNAUTHORIZED
    else:
        minutes = -(-refused.seconds // 60)
        told, code = visit.wording("sign_in.too_many", count=minutes), status.HTTP_429_TOO_MANY_REQUESTS
    answer = render(visit, template, status_code=code, problem=told, saved=None, **context)
    if refused.seconds is not None:
        answer.headers["Retry-After"] = str(refused.seconds)
    return answer


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"
