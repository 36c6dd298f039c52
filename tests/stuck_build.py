"""A process that launches a build and gets stuck while it embeds, for tests that kill it."""

import sys
import time
from collections.abc import Sequence

import resources.embedder
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.protocol import Vectors
from orbit_pipelines.jobs import QUICK_UPDATE
from orbit_pipelines.launching import launch
from orbit_pipelines.settings import load_settings


class StuckEmbedder(FakeEmbedder):
    """Says that it was asked, and never answers."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Get stuck."""
        print("embedding", flush=True)  # noqa: T201
        time.sleep(600)
        return super().embed_passages(texts)


if __name__ == "__main__":
    setattr(resources.embedder, "create_embedder", lambda _settings: StuckEmbedder())  # noqa: B010
    result = launch(load_settings(), QUICK_UPDATE)
    sys.exit(result.failure)
