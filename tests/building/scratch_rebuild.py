"""What memory must hold, computed from nothing: the full rebuild into an empty store that promise 1 compares with."""

from typing import Any

import polars as pl

from orbit_pipelines.building.chunks import CHUNKS, make_chunks
from orbit_pipelines.building.extraction import QUARANTINED, SOURCES, extract
from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.other_records import shape_records
from orbit_pipelines.building.pairing import pair_messages
from orbit_pipelines.building.scope import Scope
from orbit_pipelines.building.verdicts import judge
from orbit_pipelines.building.workspace import Workspace
from orbit_pipelines.database.connection import connect
from orbit_pipelines.database.vectors import to_wire
from orbit_pipelines.embedders.fake import FakeEmbedder
from orbit_pipelines.model import Mode
from tests.worlds import World

KEY = ("user_id", "agent_id", "source_key", "source_id", "chunk_index")


def rebuild_from_scratch(world: World, *users: str) -> pl.DataFrame:
    """Return the chunks of a full rebuild of some people (everyone when none is named), with their vectors."""
    run = world.run(*users, full=True)
    run.connection.close()
    workspace = Workspace.create(world.settings.workspaces.parent / "scratch", "scratch")
    try:
        with connect(world.url, autocommit=True) as connection:
            extract(
                connection,
                workspace,
                mode=Mode.FULL,
                scope=Scope(users),
                recipe=run.recipe,
                batch_messages=7,
            )
        sources = workspace.read_all("sources", SOURCES)
        quarantined = workspace.read_all("quarantined", QUARANTINED)
        frames = [
            make_chunks(
                judge(shape(workspace.read(frame, part)), sources, quarantined),
                run.chunker,
                load_hash_key(run.settings),
            )
            for frame, shape in (("messages", pair_messages), ("records", shape_records))
            for part in workspace.parts(frame)
        ]
    finally:
        workspace.remove()
    chunks = pl.concat([pl.DataFrame(schema=CHUNKS), *frames]).sort(KEY)
    vectors = to_wire(FakeEmbedder(dimensions=8).embed_passages(chunks["content"].to_list()))
    return chunks.with_columns(vectors.alias("embedding"), pl.lit(run.recipe.fingerprint).alias("recipe"))


def stored_chunks(world: World, *users: str) -> pl.DataFrame:
    """Return the stored chunks of some people, every column but the build."""
    rows: list[Any] = world.connection.execute(
        b"select user_id, agent_id, source_key, source_id, chunk_index, content_hash, session_id, message_id,"
        b" reply_message_ids, content, replace(spans::text, ' ', ''), origin_class, session_kind, sent_at,"
        b" halfvec_send(embedding), recipe from memory.chunk"
        b" where %(users)s::text[] is null or user_id = any(%(users)s)",
        {"users": list(users) or None},
    ).fetchall()
    schema = pl.Schema({**CHUNKS, "embedding": pl.Binary(), "recipe": pl.String()})
    return pl.DataFrame(rows, schema=schema, orient="row").sort(KEY)
