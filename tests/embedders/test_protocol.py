import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from orbit_pipelines.embedders.protocol import unit_vectors
from orbit_pipelines.errors import EmbeddingFailed


@pytest.mark.parametrize(
    ("raw", "count", "dimensions", "seen"),
    [
        ([[1.0, 2.0]], 2, 2, "2 texts with an array of shape (1, 2)"),
        ([1.0, 2.0], 2, 2, "shape (2,)"),
        ([[1.0, 2.0]], 1, 3, "2 dimensions where 3 were expected"),
        ([[]], 1, None, "0 dimensions"),
        ([[1.0, 2.0], [np.nan, 1.0]], 2, 2, "not finite in 1 of 2 vectors (the first is number 1)"),
        ([[np.inf, 2.0]], 1, 2, "not finite"),
        ([[1.0, 2.0], [0.0, 0.0]], 2, 2, "length zero for 1 of 2 texts (the first is number 1)"),
        ([[1.0, 2.0], [1.0]], 2, 2, "no table of numbers"),
        ([[None, 2.0]], 1, 2, "not finite"),
        ([["a", "b"]], 1, 2, "no table of numbers"),
        (None, 1, 2, "shape ()"),
    ],
)
def test_what_is_unsound_is_refused_and_named(raw: object, count: int, dimensions: int | None, seen: str) -> None:
    with pytest.raises(EmbeddingFailed) as refused:
        unit_vectors(raw, count=count, dimensions=dimensions, embedder="the model")  # type: ignore[arg-type]
    assert seen in str(refused.value)
    assert str(refused.value).startswith("the model answered")


def test_no_texts_give_no_vectors() -> None:
    assert unit_vectors([], count=0, dimensions=3, embedder="the model").shape == (0, 3)


@settings(deadline=None)
@given(
    arrays(
        np.float64,
        (3, 5),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ).filter(lambda raw: bool(np.abs(raw).max(axis=1).all()))
)
def test_every_sound_vector_becomes_a_unit_vector_that_halfvec_can_hold(raw: np.ndarray) -> None:
    vectors = unit_vectors(raw, count=3, dimensions=5, embedder="the model")
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    halved = vectors.astype(np.float16)
    assert np.isfinite(halved).all()
    assert np.linalg.norm(halved.astype(np.float32), axis=1).min() > 0.99
