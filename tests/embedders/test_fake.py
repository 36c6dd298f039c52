import numpy as np
import pytest

from orbit_pipelines.embedders.fake import FakeEmbedder


@pytest.mark.parametrize("dimensions", [1, 3, 8, 384, 512, 513, 1536])
def test_vectors_are_unit_vectors_of_any_length(dimensions: int) -> None:
    vectors = FakeEmbedder(dimensions).embed_passages(["a", "b", ""])
    assert vectors.shape == (3, dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_always_gets_its_own_vector() -> None:
    one, other = FakeEmbedder(), FakeEmbedder()
    vectors = one.embed_passages(["tea", "coffee"])
    assert np.array_equal(vectors[0], other.embed_passages(["x", "tea"])[1])
    assert np.array_equal(vectors[1], other.embed_query("coffee"))
    assert not np.array_equal(vectors[0], vectors[1])


def test_blocks_beyond_the_first_differ_from_it() -> None:
    vector = FakeEmbedder(1024).embed_query("tea")
    assert not np.array_equal(vector[:512], vector[512:])


def test_it_counts_the_passages_it_embedded() -> None:
    embedder = FakeEmbedder()
    embedder.embed_passages(["a", "b"])
    embedder.embed_passages([])
    embedder.embed_query("c")
    embedder.embed_passages(["a"])
    assert embedder.texts_embedded == 3


def test_no_texts_give_no_vectors() -> None:
    assert FakeEmbedder(384).embed_passages([]).shape == (0, 384)
