import numpy as np
import pytest

from orbit_pipelines.embedders.use_multilingual import UseMultilingualEmbedder

PASSAGES = [
    "The train to Lyon leaves at seven in the morning from platform four.",
    "My sister is allergic to peanuts and carries an adrenaline pen.",
    "The roof of the garden shed leaks whenever it rains.",
    "Le chat de la voisine dort toute la journée sur le rebord de la fenêtre.",
    "Nous avons choisi une peinture bleue pour la chambre des enfants.",
    "Le médecin a conseillé de marcher une demi-heure chaque jour.",
]


@pytest.fixture(scope="module")
def embedder() -> UseMultilingualEmbedder:
    return UseMultilingualEmbedder()


def test_its_fingerprint_names_model_version_and_dimensions(embedder: UseMultilingualEmbedder) -> None:
    name, version, dimensions = embedder.fingerprint.split("/")
    assert name == "use-multilingual"
    assert version[0].isdigit()
    assert int(dimensions) == embedder.dimensions == 512


def test_a_vector_depends_on_its_text_alone(embedder: UseMultilingualEmbedder) -> None:
    together = embedder.embed_passages(PASSAGES)
    assert together.shape == (len(PASSAGES), 512)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert np.array_equal(together[::-1], embedder.embed_passages(PASSAGES[::-1]))
    assert np.array_equal(together[2:3], embedder.embed_passages(PASSAGES[2:3]))


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ("When does the train leave?", 0),
        ("Who can't eat peanuts?", 1),
        ("À quelle heure part le train pour Lyon ?", 0),
        ("Où dort le chat ?", 3),
        ("What colour is the children's bedroom?", 4),
        ("Combien de temps faut-il marcher chaque jour ?", 5),
    ],
)
def test_the_nearest_passage_answers_the_query(embedder: UseMultilingualEmbedder, query: str, nearest: int) -> None:
    similarities = embedder.embed_passages(PASSAGES) @ embedder.embed_query(query)
    assert int(similarities.argmax()) == nearest


def test_any_text_gets_a_sound_vector(embedder: UseMultilingualEmbedder) -> None:
    texts = ["", " ", "\u200b", "\x01", "\u0301", "日本語の文章", "👩‍👩‍👧‍👦", "w" * 3000]
    vectors = embedder.embed_passages(texts)
    assert np.isfinite(vectors).all()


def test_no_texts_give_no_vectors(embedder: UseMultilingualEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 512)
