"""Vectors that search can trust."""

from typing import Any

import psycopg

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.reach import count_chunks, looking_at, reach_of
from orbit_pipelines.database.statements import statement

_FAILURES = ("of_unknown_recipes", "of_wrong_dimensions", "not_finite", "of_zeros", "not_of_unit_length")


def embeddings_are_sound(connection: psycopg.Connection[Any], build: BuildOfRun | None = None) -> Finding:
    """Whether every stored vector has its recipe's dimensions, is finite, and has length one.

    Args:
        connection: in autocommit.
        build: looks at what this build may have changed; without one, at everything.
    """
    with looking_at(connection, reach_of(build)):
        seen = {"chunks": count_chunks(connection)}
        rows = connection.execute(statement("check_embeddings")).fetchall()
    failures = dict.fromkeys(_FAILURES, 0)
    for problem, *_ in rows:
        failures[problem] += 1
    return find(
        "embeddings_are_sound",
        failures=failures,
        seen=seen,
        examples=[name_of(*key) for _, *key in rows],
    )
