"""From a template to an answer: what every page finds in its context, and where a redirect may lead."""

import re
from typing import Any
from urllib.parse import urlsplit

import jinja2
from fastapi import status
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from orbit_pipelines.web.csrf import FIELD, csrf_token
from orbit_pipelines.web.language import LANGUAGES, shown_day, shown_moment
from orbit_pipelines.web.shown_text import own_beginnings, own_headings, shown_text
from orbit_pipelines.web.static_files import ICONS, static_url
from orbit_pipelines.web.urls import thread_url
from orbit_pipelines.web.visits import Visit

_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def render(visit: Visit, template: str, /, *, status_code: int = 200, **context: Any) -> HTMLResponse:
    """Return a page, or a part of one, in the visitor's language.

    Every template has ``visit``, ``person``, ``t`` (the wordings), ``csrf_field()`` for each form, ``language``,
    ``moment`` and ``day`` (dates in the person's zone), ``icon``, ``static_url``, ``thread_url``, ``path`` and those of
    ``shown_text`` beside its ``context``.
    """
    language, zone, token = visit.language, visit.zone, csrf_token(visit.request)
    page = _environment.get_template(template).render(
        visit=visit,
        person=visit.person,
        t=visit.wording,
        language=language,
        languages=LANGUAGES,
        moment=shown_moment(language, zone),
        day=shown_day(language, zone),
        csrf_token=token,
        csrf_field=lambda: Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token),
        path=_with_query(visit.request),
        signs_in_by_proxy=visit.site.settings.web_trusted_header is not None,
        **context,
    )
    return HTMLResponse(
        page, status_code=status_code, headers={"Content-Language": language, "Vary": "Accept-Language"}
    )


def redirect(to: str) -> RedirectResponse:
    """Return the answer that has a browser get another page after a form."""
    return RedirectResponse(to, status_code=status.HTTP_303_SEE_OTHER)


def local_page(wanted: str | None, otherwise: str) -> str:
    """Return a path of this site; anything else, such as another host, becomes ``otherwise``."""
    return wanted if wanted is not None and _LOCAL.fullmatch(wanted) else otherwise


def page_before(request: Request, wanted: str | None, otherwise: str) -> str:
    """Return where to go back to: the page that the form names, else the one the browser came from, if it is ours."""
    if wanted:
        return local_page(wanted, otherwise)
    came_from = urlsplit(request.headers.get("referer", ""))
    if came_from.netloc != request.url.netloc:
        return otherwise
    query = f"?{came_from.query}" if came_from.query else ""
    return local_page(f"{came_from.path}{query}", otherwise)


def icon(name: str) -> Markup:
    """Return an icon for the eye only; whoever listens hears the words beside it.

    Raises:
        KeyError: the pages have no such icon.
    """
    if name not in ICONS:
        raise KeyError(name)
    return Markup(
        '<svg class="bi bi-{name}" aria-hidden="true" focusable="false"><use href="{url}#{name}"></use></svg>'
    ).format(name=name, url=static_url("icons.svg"))


def _with_query(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def _make_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("orbit_pipelines.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        icon=icon,
        static_url=static_url,
        thread_url=thread_url,
        shown_text=shown_text,
        own_headings=own_headings,
        own_beginnings=own_beginnings,
    )
    return environment


_environment = _make_environment()
