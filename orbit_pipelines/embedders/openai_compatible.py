"""Any endpoint that speaks OpenAI's embeddings API: OpenAI itself, Ollama, vLLM, text-embeddings-inference.

The client does the retrying: 408, 409, 429, 5xx, timeouts and lost connections, with exponential backoff and jitter, or
after as long as the endpoint's Retry-After says. Its errors quote what the endpoint answered, which may quote a text;
so none of them is passed on, not even as a cause.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from orbit_pipelines.embedders.protocol import Vectors, unit_vectors
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.settings import Settings

if TYPE_CHECKING:
    from openai import OpenAI

_ADVICE = {
    400: "The request was refused: check ORBIT_EMBEDDING_MODEL and ORBIT_EMBEDDING_DIMENSIONS (unset it for a model of "
    "one fixed size), and that a chunk (ORBIT_CHUNK_CHARACTERS) fits the model.",
    401: "Check ORBIT_EMBEDDING_API_KEY.",
    403: "The key may not use this model: check ORBIT_EMBEDDING_API_KEY and ORBIT_EMBEDDING_MODEL.",
    404: "Check ORBIT_EMBEDDING_BASE_URL and ORBIT_EMBEDDING_MODEL.",
    413: "Lower ORBIT_EMBEDDING_BATCH_SIZE.",
    429: "Wait, or lower ORBIT_EMBEDDING_BATCH_SIZE; what was embedded so far is kept, and the next build goes on.",
}
_LATER = "What was embedded so far is kept: run the build again when the endpoint answers."


class OpenAICompatibleEmbedder:
    """One model behind one endpoint.

    The endpoint is part of the fingerprint: two servers may serve different models under one name, and vectors of
    different models in one column would be found by nobody. So is their length: a server may come to serve another
    model under the same name.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._dimensions = settings.embedding_dimensions
        url = urlsplit(settings.embedding_base_url)
        self._endpoint = f"{url.hostname}:{url.port}{url.path}" if url.port else f"{url.hostname}{url.path}"
        self._name = f"The embedding endpoint {self._endpoint} (model {settings.embedding_model})"
        self._model = f"openai/{self._endpoint.rstrip('/')}/{settings.embedding_model}"

    @property
    def fingerprint(self) -> str:
        """The endpoint, the model's name and the dimensions."""
        return f"{self._model}/{self.dimensions}"

    def may_be(self, fingerprint: str) -> bool:
        """Whether this may be its fingerprint: any length may be the endpoint's before it told."""
        if self._dimensions is not None:
            return fingerprint == self.fingerprint
        model, _, dimensions = fingerprint.rpartition("/")
        return model == self._model and dimensions.isdecimal()

    @property
    def dimensions(self) -> int:
        """The configured length, or else that of the endpoint's first answer."""
        if self._dimensions is None:
            self._dimensions = self._embed(["dimensions"], None).shape[1]
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text, in order, by as many requests as the batch size makes of them."""
        size = self._settings.embedding_batch_size
        batches = [self._embed(texts[start : start + size], self._dimensions) for start in range(0, len(texts), size)]
        return np.concatenate(batches) if batches else np.zeros((0, self.dimensions), dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query; the fingerprint is that of its length from then on.

        Who searches may live longer than what the endpoint serves. A query of another length is another model's.
        """
        vector: Vectors = self._embed([text], self._settings.embedding_dimensions)[0]
        return vector

    @cached_property
    def _client(self) -> "OpenAI":
        # Imported by the first request: it takes as long as most commands altogether.
        from openai import OpenAI  # noqa: PLC0415

        key = self._settings.embedding_api_key
        return OpenAI(
            base_url=self._settings.embedding_base_url,
            # Local servers want none, but the client wants one; and OpenAI's own key must not go to another endpoint.
            api_key=key.get_secret_value() if key else "none",
            timeout=self._settings.embedding_timeout,
            max_retries=self._settings.embedding_attempts - 1,
        )

    def _embed(self, texts: Sequence[str], dimensions: int | None) -> Vectors:
        vectors = unit_vectors(self._request(texts), count=len(texts), dimensions=dimensions, embedder=self._name)
        self._dimensions = vectors.shape[1]
        return vectors

    def _request(self, texts: Sequence[str]) -> list[Any]:
        import openai  # noqa: PLC0415

        answer: Any = None
        try:
            answer = self._client.embeddings.create(
                model=self._settings.embedding_model,
                input=list(texts),
                dimensions=self._settings.embedding_dimensions or openai.omit,
                # Asked for by name: some servers know no base64, which the client would ask for.
                encoding_format="float",
            )
            failure = None
        except openai.APITimeoutError:
            failure = (
                f"did not answer within {self._settings.embedding_timeout:g} s, {self._tries()}. "
                f"Raise ORBIT_EMBEDDING_TIMEOUT or lower ORBIT_EMBEDDING_BATCH_SIZE. {_LATER}"
            )
        except openai.APIStatusError as error:
            status = error.status_code
            tries = f", {self._tries()}" if status in (408, 409, 429) or status >= 500 else ""
            failure = f"answered with status {status}{tries}. {_ADVICE.get(status, _LATER)}"
        except openai.APIConnectionError:
            failure = f"can't be reached, {self._tries()}. Check ORBIT_EMBEDDING_BASE_URL. {_LATER}"
        except (openai.OpenAIError, ValueError):
            failure = "answered with something that is no list of embeddings. Check ORBIT_EMBEDDING_BASE_URL."
        # Raised out here, so that the client's error is not even this one's context.
        if failure:
            raise EmbeddingFailed(f"{self._name} {failure}")
        return self._in_order(answer, len(texts))

    def _in_order(self, answer: Any, count: int) -> list[Any]:
        """Return the answer's vectors in the order of the texts: an endpoint may number them and answer in any."""
        items = getattr(answer, "data", None)
        if not isinstance(items, list) or not all(hasattr(item, "embedding") for item in items):
            raise EmbeddingFailed(
                f"{self._name} answered with something that is no list of embeddings. Check ORBIT_EMBEDDING_BASE_URL."
            )
        if len(items) != count:
            raise EmbeddingFailed(f"{self._name} answered {count} texts with {len(items)} vectors.")
        numbers = [getattr(item, "index", None) for item in items]
        if any(number is not None for number in numbers):
            if sorted(number for number in numbers if isinstance(number, int)) != list(range(count)):
                raise EmbeddingFailed(f"{self._name} numbered its {count} vectors so that their order can't be told.")
            items = sorted(items, key=lambda item: int(item.index))
        return [item.embedding for item in items]

    def _tries(self) -> str:
        attempts = self._settings.embedding_attempts
        return "tried once" if attempts == 1 else f"tried {attempts} times"
