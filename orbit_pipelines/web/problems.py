"""What a visitor sees when something doesn't work, and what the log says: never a text, never a trace of one."""

import logging
import traceback
from pathlib import Path

import psycopg
from fastapi import FastAPI, Request, status
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orbit_pipelines.errors import DatabaseUnavailable, OrbitError, OutOfSpace
from orbit_pipelines.web.rendering import redirect, render
from orbit_pipelines.web.site import site_of
from orbit_pipelines.web.urls import SIGN_IN, with_next
from orbit_pipelines.web.visits import Visit, open_visit

log = logging.getLogger(__name__)

TOLD_APART = (400, 401, 403, 404, 409, 413, 429, 503)
"""Statuses with a wording of their own; others have that of 500 or 400."""


class DiscreetErrors:
    """Answers what nobody foresaw, and logs which fault it was and where: its text may quote a message."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_answered = False

        async def note_and_send(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, note_and_send)
        except Exception as error:
            log.error("%s %s failed: %s", scope.get("method"), scope.get("path"), fault(error))
            if not is_answered:
                await (await run_in_threadpool(_shown, scope))(scope, receive, send)


def _shown(scope: Scope) -> Response:
    """Return the page of a fault; plain words where the fault is in the pages themselves."""
    try:
        return problem(Request(scope), status.HTTP_500_INTERNAL_SERVER_ERROR)
    except Exception:
        return PlainTextResponse("Internal error.", status_code=500)


def fault(error: BaseException) -> str:
    """Return which fault it was and where, for a log; what this project raises on purpose quotes no text."""
    if isinstance(error, OrbitError):
        return f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def add_problem_pages(app: FastAPI) -> None:
    """Have the application answer problems by pages, or by JSON to whoever asked for that."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(psycopg.DataError, _unreadable)
    app.add_exception_handler(DatabaseUnavailable, _unavailable)
    app.add_exception_handler(OutOfSpace, _unavailable)


def problem(request: Request, code: int, headers: dict[str, str] | None = None) -> Response:
    """Return the page of a status, or its JSON."""
    visit = _visit(request, code)
    kind = code if code in TOLD_APART else 500 if code >= 500 else 400
    title, explanation = visit.wording(f"problem.{kind}.title"), visit.wording(f"problem.{kind}.explanation")
    if getattr(request.state, "wants_json", False):
        response: Response = JSONResponse({"error": title, "explanation": explanation}, status_code=code)
    else:
        # The composer would meet the same fault, and its notice too.
        has_composer = code < status.HTTP_500_INTERNAL_SERVER_ERROR
        response = render(
            visit, "problem.html", status_code=code, title=title, explanation=explanation, has_composer=has_composer
        )
    response.headers.update(headers or {})
    return response


def _visit(request: Request, code: int) -> Visit:
    """Return whose request it is, looked up where it was refused before anybody asked; a guest's where that fails."""
    is_known = hasattr(request.state, "person") or code == status.HTTP_503_SERVICE_UNAVAILABLE
    if is_known:
        return Visit(request, site_of(request), getattr(request.state, "person", None))
    try:
        with open_visit(request) as visit:
            return Visit(request, visit.site, visit.person)
    except (OrbitError, psycopg.Error):
        return Visit(request, site_of(request), None)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    is_guest_at_a_page = error.status_code == status.HTTP_401_UNAUTHORIZED and request.method == "GET"
    if is_guest_at_a_page and site_of(request).settings.web_trusted_header is None:
        return redirect(with_next(SIGN_IN, request))
    return await run_in_threadpool(problem, request, error.status_code, dict(error.headers or {}))


async def _unreadable(request: Request, error: Exception) -> Response:
    """Answer what lacks something, or what no column can hold; FastAPI's own answer quotes what was sent."""
    return await run_in_threadpool(problem, request, status.HTTP_400_BAD_REQUEST)


async def _unavailable(request: Request, error: Exception) -> Response:
    log.error("%s %s failed: %s", request.method, request.url.path, fault(error))
    return await run_in_threadpool(problem, request, status.HTTP_503_SERVICE_UNAVAILABLE)
