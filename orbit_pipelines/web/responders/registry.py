"""From the settings to who replies."""

from orbit_pipelines.settings import Settings
from orbit_pipelines.web.responders.offline import OfflineResponder
from orbit_pipelines.web.responders.openai_compatible import OpenAICompatibleResponder
from orbit_pipelines.web.responders.protocol import Responder


def create_responder(settings: Settings) -> Responder:
    """Return the model that is configured, else the offline responder; nothing is asked before the first question."""
    return OfflineResponder() if settings.chat_model is None else OpenAICompatibleResponder(settings)
