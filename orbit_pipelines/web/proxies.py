"""Reverse proxies: which are believed, and whom they say is signed in.

Off by default. With ``ORBIT_WEB_TRUSTED_HEADER`` the proxy signs people in and the pages have no passwords; whoever can
reach the pages without passing the proxy from one of its addresses is a guest, whatever headers they send.
"""

from ipaddress import ip_address, ip_network

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from orbit_pipelines.errors import UsageError
from orbit_pipelines.settings import Settings

LONGEST_USER_ID = 256

_PEER = "orbit.peer"


class KeepPeer:
    """Notes who really connected, before a proxy's word for it replaces the address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope[_PEER] = (scope.get("client") or ("", 0))[0]
        await self._app(scope, receive, send)


def proxies_of(settings: Settings) -> list[str]:
    """Return the addresses and networks that are believed.

    Raises:
        UsageError: one of them is neither.
    """
    proxies = [proxy.strip() for proxy in settings.web_proxies.split(",") if proxy.strip()]
    for proxy in proxies:
        try:
            ip_network(proxy, strict=False)
        except ValueError:
            raise UsageError(
                f"ORBIT_WEB_PROXIES names {proxy!r}, which is no address or network such as 10.0.0.0/8."
            ) from None
    return proxies


def user_named_by_proxy(connection: HTTPConnection, settings: Settings) -> str | None:
    """Return the user id that a believed proxy names, None where none does or this installation asks none."""
    if settings.web_trusted_header is None:
        return None
    named = connection.headers.getlist(settings.web_trusted_header)
    if len(named) != 1 or not is_believed(connection.scope.get(_PEER, ""), settings):
        return None
    try:
        # Headers are bytes, which the framework reads as Latin-1; names are UTF-8, and have one spelling.
        user_id = named[0].encode("latin-1").decode().strip()
    except UnicodeError:
        return None
    return user_id if user_id.isprintable() and 0 < len(user_id) <= LONGEST_USER_ID else None


def is_believed(peer: str, settings: Settings) -> bool:
    """Whether an address is that of one of the proxies."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    return any(address in ip_network(proxy, strict=False) for proxy in proxies_of(settings))
