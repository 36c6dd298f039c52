"""Memory holds a person's included sources, and says of each why it is or isn't one."""

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, find, name_of
from orbit_pipelines.checking.reach import looking_at, reach_of
from orbit_pipelines.database.statements import statement
from orbit_pipelines.sources.resolution import resolve_all_accounts, statuses_to_json


def sources_stay_within_the_plan(connection: psycopg.Connection[Any], build: BuildOfRun | None = None) -> Finding:
    """Whether every chunk is of a source that its person's plan includes, and the recorded statuses are the plan's.

    Counts are of a person's sources. Where a plan, an assignment, a switch or a cap changed since the person's last
    build, the difference is pending.

    Args:
        connection: in autocommit.
        build: looks at the people this build may have changed; without one, at everyone.
    """
    with looking_at(connection, reach_of(build)):
        people = connection.execute("select count(*) from checked_person").fetchone()
        statuses = statuses_to_json(resolve_all_accounts(connection))
        flat = [(plan, source, reason) for plan, each in statuses.items() for source, reason in each.items()]
        rows = connection.execute(
            statement("check_sources"),
            {
                "plan_keys": [plan for plan, _, _ in flat],
                "source_keys": [source for _, source, _ in flat],
                "reasons": [reason for _, _, reason in flat],
                "plan_statuses": Jsonb(statuses),
            },
        ).fetchall()
    failures = {"chunks_outside_the_plan": 0, "statuses_that_disagree": 0}
    for problem, is_pending, *_ in rows:
        if not is_pending:
            failures[problem] += 1
    return find(
        "sources_stay_within_the_plan",
        failures=failures,
        seen={"people": people[0] if people else 0, "pending": len([row for row in rows if row[1]])},
        examples=[name_of(*key) for _, is_pending, *key in rows if not is_pending],
    )
