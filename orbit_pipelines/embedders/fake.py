"""A deterministic embedder for tests and benchmarks: vectors from a hash, next to no cost, no meaning."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from orbit_pipelines.embedders.protocol import Vectors

_DIGEST_BYTES = 64
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

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order."""
        self.texts_embedded += len(texts)
        return self._vectors(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return what the same passage gets, uncounted."""
        vector: Vectors = self._vectors([text])[0]
        return vector

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        width = -(-self.dimensions // 8)
        encoded = [text.encode() for text in texts]
        blocks = []
        for block, start in enumerate(range(0, width, _DIGEST_BYTES)):
            size, salt = min(_DIGEST_BYTES, width - start), block.to_bytes(2, "big")
            digests = b"".join([blake2b(text, digest_size=size, salt=salt).digest() for text in encoded])
            blocks.append(np.frombuffer(digests, dtype=np.uint8).reshape(len(encoded), size))
        signs = self._signs[np.concatenate(blocks, axis=1)].reshape(len(encoded), width * 8)
        return np.ascontiguousarray(signs[:, : self.dimensions])
