"""Where the pages are."""

from urllib.parse import urlencode

from starlette.requests import Request

THREAD = "/orbitpilot/thread/"
CHAT = "/orbitpilot/"
SESSIONS = "/orbitpilot/sessions/"
SESSION = "/orbitpilot/session/"
BLINKS = "/blinks/"
MEMORY_STATUS = "/memory/"
ADMIN = "/admin/sources/"
SIGN_IN = "/sign-in/"
SIGN_UP = "/sign-up/"
ACCOUNT = "/account/"


def with_next(page: str, request: Request) -> str:
    """Return a page's address that leads back to the one that was asked for."""
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{page}?{urlencode({'next': f'{request.url.path}{query}'})}"


def session_url(agent_id: str, session_id: str) -> str:
    """Return the address of a session's page; ids may hold anything, so they stand in the query."""
    return f"{SESSION}?{urlencode({'agent': agent_id, 'session': session_id})}"


def thread_url(agent_id: str | None = None, session_id: str | None = None, at: str = "") -> str:
    """Return the address of a thread's messages alone, the running session's unless one is named.

    ``at`` begins the ids of what is in it, where the same message may stand elsewhere on the page.
    """
    named = {} if session_id is None else {"agent": agent_id, "session": session_id}
    query = urlencode({**named, **({"at": at} if at else {})})
    return f"{THREAD}?{query}" if query else THREAD
