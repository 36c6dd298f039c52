import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from traceback import format_exception
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from orbit_pipelines.embedders.openai_compatible import OpenAICompatibleEmbedder
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.settings import Settings

SECRET = "the plumber comes on Thursday"
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def vector_of(text: str, dimensions: int = 4) -> list[float]:
    return [float(len(text))] + [1.0] * (dimensions - 1)


def embeddings(request: dict[str, Any], dimensions: int = 4) -> tuple[int, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text, dimensions)}
        for index, text in enumerate(request["input"])
    ]
    return 200, {"object": "list", "model": request["model"], "data": data}


def refusal(status: int) -> Answer:
    """Answer with a status and an error that quotes the texts, as real endpoints do."""
    return lambda request: (status, {"error": {"message": f"can't embed {request['input']}", "type": "bad"}})


class Endpoint:
    """A small embeddings server: plays the given answers one by one, then answers well."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.headers: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.closing = Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(request)
                endpoint.keys.append(self.headers["Authorization"])
                answer = endpoint.answers.pop(0) if endpoint.answers else embeddings
                status, body = answer(request)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                if endpoint.closing.is_set():
                    return
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                for name, value in endpoint.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def embedder(self, **settings: Any) -> OpenAICompatibleEmbedder:
        given: dict[str, Any] = {
            "embedder": "openai",
            "embedding_base_url": f"http://127.0.0.1:{self.server.server_port}/v1",
            "embedding_model": "small",
            "embedding_attempts": 3,
            "embedding_timeout": 20.0,
        }
        return OpenAICompatibleEmbedder(Settings(**(given | settings)))

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started = Endpoint()
    # The client's own delays, made short by the header it knows for that.
    started.headers["retry-after-ms"] = "5"
    yield started
    started.close()


def assert_holds_no_text(error: BaseException) -> None:
    assert SECRET not in "".join(format_exception(error))
    assert error.__cause__ is None
    assert error.__context__ is None


def test_texts_travel_in_batches_and_come_back_in_order(endpoint: Endpoint) -> None:
    texts = ["w" * length for length in range(1, 8)]
    vectors = endpoint.embedder(embedding_batch_size=3).embed_passages(texts)
    assert [len(request["input"]) for request in endpoint.requests] == [3, 3, 1]
    expected = np.array([vector_of(text) for text in texts])
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert vectors.dtype == np.float32


def test_vectors_numbered_in_another_order_are_put_in_order(endpoint: Endpoint) -> None:
    def reversed_answer(request: dict[str, Any]) -> tuple[int, Any]:
        status, body = embeddings(request)
        body["data"].reverse()
        return status, body

    endpoint.answers = [reversed_answer]
    vectors = endpoint.embedder().embed_passages(["a", "aaaaa"])
    assert vectors[0, 0] < vectors[1, 0]


def test_the_first_answer_decides_the_dimensions_once(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder()
    assert embedder.dimensions == 4
    assert embedder.dimensions == 4
    assert embedder.embed_query("tea").shape == (4,)
    assert len(endpoint.requests) == 2


def test_configured_dimensions_are_asked_for_and_part_of_the_fingerprint(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(embedding_dimensions=4)
    embedder.embed_query("tea")
    assert endpoint.requests[0]["dimensions"] == 4
    assert embedder.fingerprint.endswith("/v1/small/4")
    assert embedder.dimensions == 4


def test_the_length_that_was_answered_is_part_of_the_fingerprint(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder()
    assert embedder.fingerprint.endswith("/v1/small/4")
    assert embedder.may_be(embedder.fingerprint)
    assert not embedder.may_be(embedder.fingerprint.replace("/small/4", "/small/5"))
    assert embedder.fingerprint == endpoint.embedder(embedding_dimensions=4).fingerprint


def test_who_searches_follows_an_endpoint_that_comes_to_serve_another_model(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder()
    embedder.embed_query("tea")
    endpoint.answers = [lambda request: embeddings(request, dimensions=5)]
    assert embedder.embed_query("tea").shape == (5,)
    assert embedder.fingerprint.endswith("/v1/small/5")
    endpoint.answers = [lambda request: embeddings(request, dimensions=5)]
    with pytest.raises(EmbeddingFailed, match="5 dimensions where 4 were expected"):
        endpoint.embedder(embedding_dimensions=4).embed_query("tea")


def test_the_key_is_sent_and_another_programs_key_is_not(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")
    endpoint.embedder(embedding_api_key=SecretStr("ours")).embed_query("tea")
    endpoint.embedder().embed_query("tea")
    assert endpoint.keys == ["Bearer ours", "Bearer none"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_what_may_pass_is_tried_again(endpoint: Endpoint, status: int) -> None:
    endpoint.answers = [refusal(status), refusal(status)]
    assert endpoint.embedder().embed_passages([SECRET]).shape == (1, 4)
    assert len(endpoint.requests) == 3


def test_retry_after_in_seconds_is_understood(endpoint: Endpoint) -> None:
    endpoint.headers = {"Retry-After": "0.01"}
    endpoint.answers = [refusal(429)]
    assert endpoint.embedder().embed_passages([SECRET]).shape == (1, 4)


@pytest.mark.parametrize(("status", "advice"), [(429, "ORBIT_EMBEDDING_BATCH_SIZE"), (500, "run the build again")])
def test_after_the_last_try_the_error_says_so_without_the_text(endpoint: Endpoint, status: int, advice: str) -> None:
    endpoint.answers = [refusal(status)] * 9
    with pytest.raises(EmbeddingFailed, match=f"status {status}, tried 3 times") as failed:
        endpoint.embedder().embed_passages([SECRET])
    assert len(endpoint.requests) == 3
    assert advice in str(failed.value)
    assert_holds_no_text(failed.value)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "ORBIT_EMBEDDING_MODEL"),
        (401, "ORBIT_EMBEDDING_API_KEY"),
        (403, "ORBIT_EMBEDDING_API_KEY"),
        (404, "ORBIT_EMBEDDING_BASE_URL"),
    ],
)
def test_what_cannot_pass_is_tried_once(endpoint: Endpoint, status: int, advice: str) -> None:
    endpoint.answers = [refusal(status)]
    with pytest.raises(EmbeddingFailed, match=f"status {status}") as failed:
        endpoint.embedder().embed_passages([SECRET])
    assert len(endpoint.requests) == 1
    assert advice in str(failed.value)
    assert_holds_no_text(failed.value)


def test_an_endpoint_that_hangs_is_named_with_its_timeout(endpoint: Endpoint) -> None:
    def hang(request: dict[str, Any]) -> tuple[int, Any]:
        endpoint.closing.wait(10)
        return embeddings(request)

    endpoint.answers = [hang, hang]
    with pytest.raises(EmbeddingFailed, match=r"within 0\.2 s, tried 2 times") as failed:
        endpoint.embedder(embedding_timeout=0.2, embedding_attempts=2).embed_passages([SECRET])
    assert_holds_no_text(failed.value)


def test_an_endpoint_that_is_not_there_is_named(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(embedding_attempts=1, embedding_base_url="http://user:pw@127.0.0.1:1/v1")
    with pytest.raises(EmbeddingFailed, match=r"127\.0\.0\.1:1/v1 .*can't be reached, tried once") as failed:
        embedder.embed_passages([SECRET])
    assert "pw" not in str(failed.value)
    assert_holds_no_text(failed.value)


def too_few(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    body["data"].pop()
    return status, body


def not_a_number(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    body["data"][-1]["embedding"][0] = float("nan")
    return status, body


def a_null(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    body["data"][-1]["embedding"][0] = None
    return status, body


def all_zero(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    body["data"][-1]["embedding"] = [0.0] * 4
    return status, body


def ragged(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    body["data"][-1]["embedding"].pop()
    return status, body


def same_numbers(request: dict[str, Any]) -> tuple[int, Any]:
    status, body = embeddings(request)
    for item in body["data"]:
        item["index"] = 0
    return status, body


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (too_few, "2 texts with 1 vectors"),
        (not_a_number, "not finite"),
        (a_null, "not finite"),
        (all_zero, "length zero"),
        (ragged, "no table of numbers"),
        (same_numbers, "order can't be told"),
        (lambda request: embeddings(request, dimensions=5), "5 dimensions where 4 were expected"),
        (lambda request: (200, {"data": [{"vector": [1]}] * len(request["input"])}), "expected one vector a text"),
        (lambda request: (200, {"hello": request["input"]}), "no list of embeddings"),
        (lambda request: (200, json.dumps(request["input"]).encode()), "no list of embeddings"),
        (lambda _: (200, b"<html>Sign in</html>"), "no list of embeddings"),
        (lambda _: (200, b'{"data": ['), "no list of embeddings"),
        (lambda _: (200, b""), "no list of embeddings"),
    ],
)
def test_an_unusable_answer_fails_at_once_without_the_text(endpoint: Endpoint, answer: Answer, seen: str) -> None:
    endpoint.answers = [answer]
    with pytest.raises(EmbeddingFailed, match=seen) as failed:
        endpoint.embedder(embedding_dimensions=4).embed_passages([SECRET, "tea"])
    assert len(endpoint.requests) == 1
    assert_holds_no_text(failed.value)


def test_dimensions_that_change_between_answers_are_refused(endpoint: Endpoint) -> None:
    embedder = endpoint.embedder(embedding_batch_size=1)
    endpoint.answers = [embeddings, lambda request: embeddings(request, dimensions=5)]
    with pytest.raises(EmbeddingFailed, match="5 dimensions where 4 were expected"):
        embedder.embed_passages(["a", "b"])


def test_no_texts_ask_for_no_vectors(endpoint: Endpoint) -> None:
    assert endpoint.embedder(embedding_dimensions=4).embed_passages([]).shape == (0, 4)
    assert not endpoint.requests
