"""What every request of one installation's pages shares, as one value on the application."""

from dataclasses import dataclass, field
from typing import cast

from starlette.requests import HTTPConnection

from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.settings import Settings
from orbit_pipelines.web.database import AppDatabase
from orbit_pipelines.web.responders.protocol import Responder
from orbit_pipelines.web.running_replies import RunningReplies


@dataclass(frozen=True, slots=True)
class Site:
    """``key`` is the secret that digests of names and addresses are made with."""

    settings: Settings
    database: AppDatabase
    embedder: Embedder
    responder: Responder
    guest_responder: Responder
    key: bytes
    replies: RunningReplies = field(default_factory=RunningReplies)


def site_of(connection: HTTPConnection) -> Site:
    """Return the installation that a request came to."""
    return cast("Site", connection.app.state.site)
