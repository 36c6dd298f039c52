"""The pages' own process: uvicorn, told to log neither addresses of pages nor what people send."""

import asyncio
import logging
import socket
from contextlib import suppress

import uvicorn
from anyio.to_thread import run_sync

from orbit_pipelines.settings import Settings
from orbit_pipelines.web.application import SECONDS_FOR_REPLIES, create_app
from orbit_pipelines.web.running_replies import RunningReplies

SECONDS_TO_FINISH = 5
"""How long replies may go on after a signal, before each has to end with its next piece."""


FAILED_TO_START = 3
"""The exit code that uvicorn's own runner has for it."""


class PagesServer(uvicorn.Server):
    """Ends the replies first when it is asked to stop: of a stream that is cut off uvicorn tells at length."""

    def __init__(self, config: uvicorn.Config, replies: RunningReplies) -> None:
        super().__init__(config)
        self._replies = replies

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, while replies come to their end and their listeners are let go."""
        ending = asyncio.create_task(self._end_replies())
        await super().shutdown(sockets)
        ending.cancel()
        with suppress(asyncio.CancelledError):
            await ending

    async def _end_replies(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + SECONDS_TO_FINISH
        while self._replies.are_running and loop.time() < deadline and not self.force_exit:
            await asyncio.sleep(0.05)
        await run_sync(self._replies.stop, 0.0 if self.force_exit else SECONDS_FOR_REPLIES)


def serve(settings: Settings, url: str, host: str, port: int) -> None:
    """Serve the pages until a signal asks to stop.

    Args:
        settings: of the installation.
        url: of its database.
        host: the address to listen on.
        port: the port to listen on.
    """
    # The command line's own handler keeps libraries quiet in a person's terminal; here the terminal is the log.
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("orbit_pipelines")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    app = create_app(settings, url)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        # The application believes the proxies of its own settings, and must know who really connected.
        proxy_headers=False,
        server_header=False,
        # Addresses hold names of sessions, which may be telling.
        access_log=False,
        log_level="warning",
        # Replies are ended before; this is for a browser that doesn't take what it was sent.
        timeout_graceful_shutdown=SECONDS_TO_FINISH + int(SECONDS_FOR_REPLIES) + 3,
    )
    server = PagesServer(config, app.state.site.replies)
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        raise SystemExit(FAILED_TO_START)
