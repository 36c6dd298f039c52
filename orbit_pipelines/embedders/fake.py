"""A deterministic embedder for tests and benchmarks: vectors from a hash, next to no cost, no meaning."""

from collections.abc import Sequence
from hashlib import sha512

import numpy as np

from orbit_pipelines.embedders.protocol import Vectors

_BLOCK_DIMENSIONS = 512
# The eight signs that each byte stands for.
_SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1


class FakeEmbedder:
    """Every bit of a text's hash is the sign of one component; all components have the same size.

    ``texts_embedded`` counts passages since the start, so that a test can tell what a build did not embed.
    """

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions
        self.fingerprint = f"fake/1/{dimensions}"
        self.texts_embedded = 0
        self._signs = _SIGNS / np.float32(np.sqrt(dimensions))

    def may_be(self, fingerprint: str) -> bool:
        """Whether this is its fingerprint."""
        return fingerprint == self.fingerprint

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order."""
        self.texts_embedded += len(texts)
        return self._vectors(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return what the same passage gets, uncounted."""
        vector: Vectors = self._vectors([text])[0]
        return vector

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        encoded = [text.encode() for text in texts]
        blocks = [
            self._block(encoded, number, min(_BLOCK_DIMENSIONS, self.dimensions - start))
            for number, start in enumerate(range(0, self.dimensions, _BLOCK_DIMENSIONS))
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def _block(self, encoded: Sequence[bytes], number: int, dimensions: int) -> Vectors:
        """Return the components from one hash of every text; ``number`` zero bytes before it make another hash."""
        salt = bytes(number)
        digests = np.frombuffer(b"".join([sha512(salt + text).digest() for text in encoded]), dtype=np.uint8)
        # `take` gathers whole rows, more than twice as fast as indexing.
        signs = self._signs.take(digests.reshape(-1, 64)[:, : -(-dimensions // 8)], axis=0)
        return np.ascontiguousarray(signs.reshape(len(encoded), -(-dimensions // 8) * 8)[:, :dimensions])
