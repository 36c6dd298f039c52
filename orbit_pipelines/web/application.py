"""The web application of one installation, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import Depends, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.key_files import derive_key
from orbit_pipelines.settings import Settings
from orbit_pipelines.web import account_pages, admin_pages, chat_pages, memory_pages, static_files, status_pages
from orbit_pipelines.web.csrf import require_csrf_token
from orbit_pipelines.web.database import AppDatabase
from orbit_pipelines.web.problems import DiscreetErrors, add_problem_pages
from orbit_pipelines.web.proxies import KeepPeer, proxies_of
from orbit_pipelines.web.responders.offline import OfflineResponder
from orbit_pipelines.web.responders.protocol import Responder
from orbit_pipelines.web.responders.registry import create_responder
from orbit_pipelines.web.security import BodyLimit, SecurityHeaders
from orbit_pipelines.web.signing_in import SECONDS_SIGNED_IN
from orbit_pipelines.web.site import Site

THREADS = 200
"""Requests at work at once."""

SECONDS_FOR_REPLIES = 2.0
"""How long a server that stops waits for replies to come to a next piece."""

SESSION_COOKIE = "orbit_session"


def create_app(
    settings: Settings, url: str, *, responder: Responder | None = None, embedder: Embedder | None = None
) -> FastAPI:
    """Return the application; it connects to nothing before it is asked for a page.

    Args:
        settings: of the installation.
        url: of its database; the application takes on the role of the pages there.
        responder: who replies in the chat; None for the one that the settings say.
        embedder: turns questions into vectors for recall; None for the one that the settings say.
    """
    key = load_hash_key(settings)
    database = AppDatabase(url)

    @asynccontextmanager
    async def live(app: FastAPI) -> AsyncIterator[None]:
        # Each reply that is being streamed holds one while it lasts; the database's own limit is apart.
        current_default_thread_limiter().total_tokens = THREADS
        yield
        # Their streams were waited for; whatever still runs is kept as far as it came.
        await run_sync(app.state.site.replies.stop, SECONDS_FOR_REPLIES)
        database.close()

    app = FastAPI(
        title="orbit_pipelines",
        lifespan=live,
        openapi_url=None,
        dependencies=[Depends(require_csrf_token)],
        middleware=_middleware(settings, derive_key(key, "session cookies")),
    )
    replying = responder or create_responder(settings)
    app.state.site = Site(
        settings,
        database,
        embedder or create_embedder(settings),
        replying,
        replying if settings.chat_guests else OfflineResponder(),
        derive_key(key, "sign-in attempts"),
    )
    add_problem_pages(app)
    for pages in (static_files, account_pages, chat_pages, memory_pages, status_pages, admin_pages):
        app.include_router(pages.router)
    return app


def _middleware(settings: Settings, cookie_key: bytes) -> list[Middleware]:
    """Return what a request passes on its way in, the outermost first."""
    return [
        Middleware(SecurityHeaders, https=settings.web_https),
        Middleware(BodyLimit),
        Middleware(KeepPeer),
        Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies_of(settings)),
        Middleware(
            SessionMiddleware,
            secret_key=cookie_key.hex(),
            session_cookie=SESSION_COOKIE,
            max_age=SECONDS_SIGNED_IN,
            same_site="lax",
            https_only=settings.web_https,
        ),
        Middleware(DiscreetErrors),
    ]
