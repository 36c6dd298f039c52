"""Excluded means excluded: what a person marked "do not remember" is not in memory, once a build has seen the mark."""

from typing import Any

import psycopg

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.reach import count_chunks, looking_at, reach_of
from orbit_pipelines.database.statements import statement

_FAILURES = {
    "pair": "of_excluded_pairs",
    "reply": "with_replies_to_excluded_messages",
    "record": "of_excluded_records",
}


def no_chunk_from_an_excluded_pair(connection: psycopg.Connection[Any], build: BuildOfRun | None = None) -> Finding:
    """Whether memory holds nothing of an excluded message, of a reply to one, or of an excluded record.

    Counts are of pairs and records. A flag set after the re-check of the build that covers its person is pending: the
    next build takes it in.

    Args:
        connection: in autocommit.
        build: looks at what this build may have changed; without one, at everything.
    """
    with looking_at(connection, reach_of(build)):
        seen = {"chunks": count_chunks(connection), "pending": 0}
        rows = connection.execute(statement("check_exclusions")).fetchall()
    failures = dict.fromkeys(_FAILURES.values(), 0)
    for kind, is_covered, *_ in rows:
        if is_covered:
            failures[_FAILURES[kind]] += 1
    seen["pending"] = len({tuple(key) for _, is_covered, *key in rows if not is_covered})
    return find(
        "no_chunk_from_an_excluded_pair",
        failures=failures,
        seen=seen,
        examples=[name_of(*key) for _, is_covered, *key in rows if is_covered],
    )
