"""Lineage tells the truth: replayed from the first build on, it ends in the index."""

from typing import Any

import psycopg

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.lineage.replay import replay_differences


def lineage_replays_to_the_index(connection: psycopg.Connection[Any], build: BuildOfRun | None = None) -> Finding:
    """Whether the recorded changes, applied in order, yield exactly the stored keys, hash for hash.

    Args:
        connection: to the database.
        build: looks at the keys this build changed, or at its people when it took them whole; without one, at
            everything.
    """
    users: tuple[str, ...] = ()
    build_id = None
    if build is not None:
        is_whole = build.extraction.is_full or build.extraction.is_everything
        users, build_id = build.extraction.users, None if is_whole else build.build_id
    differences = replay_differences(connection, users, build_id=build_id)
    return find(
        "lineage_replays_to_the_index",
        seen={},
        failures={
            "missing_from_the_index": differences.missing,
            "unknown_to_lineage": differences.extra,
            "of_another_text": differences.hash_differs,
        },
        examples=[
            name_of(each.user_id, each.agent_id, each.source_key, each.source_id, each.chunk_index)
            for each in differences.first
        ],
    )
