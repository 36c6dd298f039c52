"""The embedder, as builds reach it."""

import dagster as dg

from orbit_pipelines.embedders.protocol import Embedder
from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.settings import load_settings


class ConfiguredEmbedder(dg.ConfigurableResource):
    """The embedder that ``ORBIT_EMBEDDER`` names. It is no field: another one changes the recipe of all memory."""

    def connect(self) -> Embedder:
        """Return the embedder; it loads its model, or asks its endpoint, with the first text."""
        return create_embedder(load_settings())
