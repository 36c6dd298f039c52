"""An embedding endpoint that fails in the middle of a build: said clearly, nothing lost, no text asked for twice."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from orbit_pipelines.checking.embeddings import embeddings_are_sound
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.embedders.openai_compatible import OpenAICompatibleEmbedder
from orbit_pipelines.errors import EmbeddingFailed
from orbit_pipelines.model import Store
from orbit_pipelines.recall.search import search_memory
from orbit_pipelines.settings import Settings
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.faults.faulty import assert_nothing_left, memory_of, status_of
from tests.tally import Tally
from tests.worlds import World

Fault = Callable[[dict[str, Any]], tuple[int, Any]]
BATCH = 4


class Endpoint:
    """A small embeddings server: answers well a number of times, then badly a number of times, then well again."""

    def __init__(self) -> None:
        self.good = 0
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.answered: list[str] = []
        self.is_closing = Event()
        self.model = FakeEmbedder(dimensions=8)
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, body = endpoint.answer(request)
                content = json.dumps(body).encode()
                if endpoint.is_closing.is_set():
                    return
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.send_header("retry-after-ms", "5")
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:  # who asked has given up
                    pass

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request: dict[str, Any]) -> tuple[int, Any]:
        self.asked += request["input"]
        if self.good == 0 and self.faults:
            return self.faults.pop(0)(request)
        self.good -= 1
        self.answered += request["input"]
        return 200, self.vectors(request)

    def vectors(self, request: dict[str, Any]) -> dict[str, Any]:
        vectors = self.model.embed_passages(request["input"]).tolist()
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "model": request["model"], "data": data}

    def time_out(self, request: dict[str, Any]) -> tuple[int, Any]:
        self.is_closing.wait(60)
        return 200, {}

    def too_few(self, request: dict[str, Any]) -> tuple[int, Any]:
        body = self.vectors(request)
        body["data"].pop()
        return 200, body

    def not_a_number(self, request: dict[str, Any]) -> tuple[int, Any]:
        body = self.vectors(request)
        body["data"][-1]["embedding"][0] = float("nan")
        return 200, body

    def other_dimensions(self, request: dict[str, Any]) -> tuple[int, Any]:
        body = self.vectors(request)
        for item in body["data"]:
            item["embedding"].append(0.5)
        return 200, body

    def too_many_requests(self, request: dict[str, Any]) -> tuple[int, Any]:
        return 429, {"error": {"message": f"slow down: {request['input']}"}}

    def internal_error(self, request: dict[str, Any]) -> tuple[int, Any]:
        return 500, {"error": {"message": f"can't embed {request['input']}"}}

    def close(self) -> None:
        self.is_closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint that answers well until told otherwise."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started = Endpoint()
    yield started
    started.close()


@pytest.fixture
def remote(history: World, endpoint: Endpoint) -> World:
    """A history whose embedder is the endpoint, asked twice before a build fails."""
    history.settings = Settings(
        **{name: getattr(history.settings, name) for name in history.settings.model_fields_set}
        | {"embedder": "openai"},
        embedding_base_url=f"http://127.0.0.1:{endpoint.server.server_port}/v1",
        embedding_model="small",
        embedding_dimensions=8,
        embedding_batch_size=BATCH,
        embedding_attempts=2,
        embedding_timeout=1.0,
    )
    setattr(history, "embedder", OpenAICompatibleEmbedder(history.settings))  # noqa: B010
    return history


PERMANENT = {
    "times out": ("time_out", r"did not answer within 1 s, tried 2 times", 2),
    "answers 429": ("too_many_requests", r"status 429, tried 2 times.*the next build goes on", 2),
    "answers 500": ("internal_error", r"status 500, tried 2 times.*run the build again", 2),
    "answers too few vectors": ("too_few", r"answered \d texts with \d vectors", 1),
    "answers NaN": ("not_a_number", r"not finite in 1 of \d vectors", 1),
    "answers other dimensions": ("other_dimensions", r"9 dimensions where 8 were expected", 1),
}


@pytest.mark.parametrize("good", [0, 1, 5], ids="after {} batches".format)
@pytest.mark.parametrize("fault", PERMANENT)
def test_an_endpoint_that(remote: World, endpoint: Endpoint, fault: str, good: int, tally: Tally) -> None:
    name, said, times = PERMANENT[fault]
    endpoint.good = good
    endpoint.faults = [getattr(endpoint, name)] * times
    before = memory_of(remote)
    with pytest.raises(EmbeddingFailed, match=said) as failed:
        remote.build()
    assert "Question" not in str(failed.value)
    assert "Answer" not in str(failed.value)
    kept = len(endpoint.answered)
    assert endpoint.good == 0
    assert remote.sql("select count(*) from memory.embedding_cache") == [(kept,)]
    assert memory_of(remote) == before
    [trouble] = status_of(remote).troubles
    assert (trouble.status, trouble.note) == ("failed", f"EmbeddingFailed: {failed.value}")
    assert not list(remote.settings.workspaces.iterdir())

    asked = len(endpoint.asked)
    published = remote.build()

    expected = rebuild_from_scratch(remote)
    distinct = expected.select("user_id", "agent_id", "content").unique().height
    assert len(endpoint.answered) == distinct, "no text is embedded twice"
    assert len(endpoint.asked) - asked == published.embedded == distinct - kept, "it goes on where the cache ends"
    assert_exact_but_for_rounding(remote)
    assert_nothing_left(remote)
    tally("failures of an embedding endpoint", 1)


@pytest.mark.parametrize("fault", ["too_many_requests", "internal_error", "time_out"])
def test_a_passing_failure_is_retried_and_nobody_notices(
    remote: World, endpoint: Endpoint, fault: str, tally: Tally
) -> None:
    endpoint.good = 2
    endpoint.faults = [getattr(endpoint, fault)]
    remote.build()
    assert len(endpoint.asked) > len(endpoint.answered)
    assert_exact_but_for_rounding(remote)
    assert_nothing_left(remote)
    tally("failures of an embedding endpoint", 1)


def test_an_endpoint_that_fails_before_it_told_its_dimensions(remote: World, endpoint: Endpoint, tally: Tally) -> None:
    remote.settings = remote.settings.model_copy(update={"embedding_dimensions": None})
    setattr(remote, "embedder", OpenAICompatibleEmbedder(remote.settings))  # noqa: B010
    endpoint.faults = [endpoint.internal_error] * 2
    with pytest.raises(EmbeddingFailed, match="status 500"):
        remote.build()
    assert [trouble.status for trouble in status_of(remote).troubles] == ["failed"]
    assert not list(remote.settings.workspaces.iterdir())
    remote.build()
    assert_exact_but_for_rounding(remote)
    assert_nothing_left(remote)
    tally("failures of an embedding endpoint", 1)


@pytest.mark.parametrize("full", [False, True], ids=["incremental", "full"])
def test_an_endpoint_that_answers_with_another_length_between_builds(
    remote: World, endpoint: Endpoint, full: bool, tally: Tally
) -> None:
    remote.settings = remote.settings.model_copy(update={"embedding_dimensions": None})
    embedded: set[tuple[int, str, str, str]] = set()
    for number, dimensions in enumerate((8, 11, 11, 8, 11, 8)):
        endpoint.model = FakeEmbedder(dimensions=dimensions)
        remote.say(Store("ann"), "more", f"What is left of number {number}?", "> Little.")
        assert_each_length_is_a_model_of_its_own(remote, dimensions, embedded, full=full)
        tally("changed lengths of an embedding endpoint's vectors", 1)


def assert_each_length_is_a_model_of_its_own(
    world: World, dimensions: int, embedded: set[tuple[int, str, str, str]], *, full: bool
) -> None:
    """A build leaves vectors of one length, can be searched, and embeds what this length lacks of a store's texts."""
    embedder = OpenAICompatibleEmbedder(world.settings)
    setattr(world, "embedder", embedder)  # noqa: B010
    published = world.build(full=full)
    texts = world.sql("select distinct user_id, agent_id, content from memory.chunk")
    misses = {(dimensions, user, agent, text) for user, agent, text in texts} - embedded
    embedded |= misses
    assert published.embedded == len(misses)
    assert world.sql("select distinct vector_dims(embedding) from memory.chunk") == [(dimensions,)]
    assert world.sql(
        "select count(*) from memory.embedding_cache where not model like '%/' || vector_dims(embedding)"
    ) == [(0,)]
    assert embeddings_are_sound(world.connection).passed
    [(content,)] = world.sql("select content from memory.chunk where (user_id, source_id) = ('ann', 'more:0')")
    query = embedder.embed_query(content)
    found = search_memory(world.connection, Store("ann"), query, embedder.fingerprint, limit=1)
    assert [each.source_id for each in found] == ["more:0"]
    assert not status_of(world).is_behind
    assert_exact_but_for_rounding(world)


def assert_exact_but_for_rounding(world: World) -> None:
    """Memory is what a rebuild from nothing gives; vectors that travelled as JSON are rounded once more."""
    stored, expected = stored_chunks(world), rebuild_from_scratch(world)
    assert stored.drop("embedding").rows() == expected.select(stored.drop("embedding").columns).rows()
    assert stored["embedding"].bin.size().n_unique() == 1
