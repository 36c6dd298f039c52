"""Embeddings as pgvector's ``halfvec`` sends them: two bytes of dimension, two unused, then big-endian half floats.

Kept in this form from the embedder to the table, a vector is converted once and compared byte for byte.
"""

import struct

import numpy as np
import polars as pl


def to_wire(vectors: np.ndarray) -> pl.Series:
    """Return (n, d) float vectors as n wire forms, a Binary series."""
    count, dimensions = vectors.shape
    head = np.frombuffer(struct.pack(">hh", dimensions, 0), "u1")
    matrix = np.empty((count, 4 + 2 * dimensions), "u1")
    matrix[:, :4] = head
    matrix[:, 4:] = vectors.astype(">f2").view("u1").reshape(count, 2 * dimensions)
    return pl.Series([row.tobytes() for row in matrix], dtype=pl.Binary)


def from_wire(wire: pl.Series) -> np.ndarray:
    """Return n wire forms of one dimension as an (n, d) float32 array."""
    if wire.is_empty():
        return np.empty((0, 0), "f4")
    matrix = np.frombuffer(b"".join(wire.to_list()), "u1").reshape(len(wire), -1)
    return np.ascontiguousarray(matrix[:, 4:]).view(">f2").astype("f4")
