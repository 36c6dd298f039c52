"""A form that this installation didn't make is refused: every POST carries the token of the visit it belongs to.

The token lives in the signed session cookie, which scripts can't read, and in every form that a page shows.
"""

import secrets

from fastapi import HTTPException, Request, status

FIELD = "csrf_token"
HEADER = "x-csrf-token"

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_KEY = "csrf"


def csrf_token(request: Request) -> str:
    """Return the visit's token, made with its first form."""
    known = request.session.get(_KEY)
    if isinstance(known, str):
        return known
    token = secrets.token_urlsafe(32)
    request.session[_KEY] = token
    return token


def renew_csrf_token(request: Request) -> None:
    """Give the visit another token: whoever signs in or out leaves the forms of before behind."""
    request.session.pop(_KEY, None)


async def require_csrf_token(request: Request) -> None:
    """Refuse whatever would change something without the token; a dependency of the whole application.

    Raises:
        HTTPException: 403.
    """
    if request.method in _SAFE:
        return
    form = await request.form()
    request.state.wants_json = form.get("format") == "json"
    given = request.headers.get(HEADER) or form.get(FIELD)
    known = request.session.get(_KEY)
    if not (
        isinstance(given, str) and isinstance(known, str) and secrets.compare_digest(given.encode(), known.encode())
    ):
        raise HTTPException(status.HTTP_403_FORBIDDEN, detail="csrf")
