"""What every embedder promises, and the test that its vectors pass before anyone stores them.

All embedders return unit vectors: cosine similarity is then the inner product, and halfvec (float16) holds them without
overflow, whatever a model's own scale is.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from orbit_pipelines.errors import EmbeddingFailed

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors.

    A passage's vector depends on its text alone, never on the texts beside it in a batch, as far as the model is in
    our hands: an incremental build must store what a full one would. Errors are ``EmbeddingFailed`` and hold no text.
    """

    @property
    def fingerprint(self) -> str:
        """The model, its version, its dimensions and whatever else shapes vectors: equal ones may share a column.

        An embedder that has to ask its model for the dimensions asks here too.
        """

    def may_be(self, fingerprint: str) -> bool:
        """Whether this may be its fingerprint, as far as that can be told without asking the model."""

    @property
    def dimensions(self) -> int:
        """The length of every vector; an embedder that has to ask its model for it asks once."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order, as an array of ``(len(texts), dimensions)``."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query, of ``(dimensions,)``; some models embed those differently."""


def unit_vectors(raw: npt.ArrayLike, *, count: int, dimensions: int | None, embedder: str) -> Vectors:
    """Return ``raw`` scaled to unit length, as float32.

    Args:
        raw: what a model answered, one vector a text.
        count: how many texts were given.
        dimensions: the length every vector must have; None takes any, as long as all agree.
        embedder: who answered, for the message.

    Raises:
        EmbeddingFailed: another number of vectors or dimensions, a value that isn't finite, a vector of length zero.
    """
    try:
        vectors = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        vectors = None
    if vectors is None:
        raise EmbeddingFailed(f"{embedder} answered with something that is no table of numbers. Check the model.")
    if count == 0 and vectors.size == 0:
        return np.zeros((0, dimensions or 0), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count:
        raise EmbeddingFailed(
            f"{embedder} answered {count} texts with an array of shape {vectors.shape}: expected one vector a text."
        )
    if vectors.shape[1] != (dimensions or vectors.shape[1]) or vectors.shape[1] == 0:
        raise EmbeddingFailed(
            f"{embedder} answered with {vectors.shape[1]} dimensions where {dimensions} were expected. "
            "Check which model is configured; another model needs a build that embeds everything again."
        )
    unsound = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if unsound.size:
        raise EmbeddingFailed(
            f"{embedder} answered with values that are not finite in {unsound.size} of {count} vectors "
            f"(the first is number {unsound[0]}). Nothing of this batch was stored."
        )
    # Scaled by the largest value first: the square of a large float64 is infinite.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not largest.all():
        empty = np.flatnonzero(largest[:, 0] == 0)
        raise EmbeddingFailed(
            f"{embedder} answered with vectors of length zero for {empty.size} of {count} texts "
            f"(the first is number {empty[0]}). Nothing of this batch was stored."
        )
    scaled = vectors / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float32)
