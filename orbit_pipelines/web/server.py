"""The pages' own process: uvicorn, told to log neither addresses of pages nor what people send."""

import logging

import uvicorn

from orbit_pipelines.settings import Settings
from orbit_pipelines.web.application import create_app

SECONDS_TO_FINISH = 5


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
    uvicorn.run(
        create_app(settings, url),
        host=host,
        port=port,
        # The application believes the proxies of its own settings, and must know who really connected.
        proxy_headers=False,
        server_header=False,
        # Addresses hold names of sessions, which may be telling.
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
