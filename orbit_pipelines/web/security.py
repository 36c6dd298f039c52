"""What every answer carries against misuse, and how much a request may bring."""

from collections.abc import Mapping

from starlette import status
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Icons are an SVG that <use> points to, and Bootstrap's stylesheet holds small images as data.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
HTTPS_ONLY = "max-age=31536000"
LARGEST_BODY = 1_000_000
"""Bytes; the longest message is far below."""


class SecurityHeaders:
    """Puts the headers on every answer; what doesn't say how long it may be kept is kept nowhere."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._https = https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
                if self._https:
                    headers.setdefault("Strict-Transport-Security", HTTPS_ONLY)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class BodyLimit:
    """Refuses a body that is too large, announced or not, before anybody keeps it in memory."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if not announced.isdigit() or int(announced) > LARGEST_BODY:
            await PlainTextResponse("Too large.", status_code=413)(scope, receive, send)
            return
        received = 0

        async def receive_some() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST_BODY:
                raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE)
            return message

        await self._app(scope, receive_some, send)
