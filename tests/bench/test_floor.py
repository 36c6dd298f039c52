from collections.abc import Callable
from typing import Any

import psycopg

from orbit_pipelines.bench.corpus import Corpus
from orbit_pipelines.bench.edits import edit_one_percent, exclude_pairs
from orbit_pipelines.bench.floor import make_floor_tables, measure_floor, rows_of_build
from orbit_pipelines.building.run import BuildRequest, BuildRun, build
from orbit_pipelines.database.connection import connect
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.settings import Settings

Connection = psycopg.Connection[Any]


def copied(connection: Connection, build: Callable[[], int]) -> dict[str, int]:
    """Build, copy what it wrote, and return the number of rows by table."""
    rows = rows_of_build(connection, build())
    assert measure_floor(connection, rows) > 0
    return {each.table: each.frame.height for each in rows}


def test_the_floor_holds_the_very_rows_that_builds_wrote(connection: Connection, settings: Settings) -> None:
    def run() -> int:
        with connect(str(settings.database_url), autocommit=True) as building:
            steps = BuildRun(building, settings, BuildRequest(), FakeEmbedder(8), "run")
            build(steps)
            return steps.build_id

    def same(table: str, columns: str) -> bool:
        difference = f"select {columns} from floor.{table} except select {columns} from memory.{table}"
        return connection.execute(difference.encode()).rowcount == 0

    connection.autocommit = True
    corpus = Corpus(200)
    corpus.load(connection)
    make_floor_tables(connection)
    first = copied(connection, run)
    assert first["chunk"] == first["embedding_cache"] == first["change"] > 200
    edit_one_percent(connection, corpus)
    edited = copied(connection, run)
    assert edited["chunk"] == edited["embedding_cache"] < edited["change"] < 20
    exclude_pairs(connection, corpus)
    removed = copied(connection, run)
    assert removed["chunk"] == removed["embedding_cache"] == 0 < removed["change"]
    assert copied(connection, run) == {"chunk": 0, "embedding_cache": 0, "change": 0}
    assert same("embedding_cache", "user_id, agent_id, model, content_hash, embedding::text")
    assert same("change", "build_id, user_id, source_id, chunk_index, content_hash, action, reason, changed_at")
