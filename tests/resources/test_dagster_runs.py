import time

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from orbit_pipelines.building.builds import DeadBuild
from orbit_pipelines.jobs import AUDIT, QUICK_UPDATE
from resources.dagster_runs import first_failure, includes_asset, report_dead_runs, report_silent_runs
from tests.running import Runs


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (dg.DagsterRun(QUICK_UPDATE), True),
        (dg.DagsterRun(QUICK_UPDATE, asset_selection=frozenset({dg.AssetKey("diff_apply")})), True),
        (dg.DagsterRun(QUICK_UPDATE, asset_selection=frozenset({dg.AssetKey("embedding")})), False),
        (dg.DagsterRun(QUICK_UPDATE, step_keys_to_execute=["embedding", "diff_apply"]), True),
        (dg.DagsterRun(QUICK_UPDATE, step_keys_to_execute=["embedding"]), False),
    ],
)
def test_a_run_includes_what_its_job_or_its_selection_says(run: dg.DagsterRun, *, expected: bool) -> None:
    assert includes_asset(run, "diff_apply") is expected


def test_only_dead_builds_runs_that_still_seem_to_run_are_closed(runs: Runs) -> None:
    killed = runs.begin(QUICK_UPDATE, DagsterRunStatus.STARTED)
    over = runs.begin(QUICK_UPDATE, DagsterRunStatus.SUCCESS)
    alive = runs.begin(AUDIT, DagsterRunStatus.STARTED)

    dead = [killed.run_id, over.run_id, "known to no instance", None]
    report_dead_runs(runs.instance, [DeadBuild(number, run_id, None) for number, run_id in enumerate(dead)])

    assert runs.status_of(killed.run_id) is DagsterRunStatus.FAILURE
    assert runs.status_of(over.run_id) is DagsterRunStatus.SUCCESS
    assert runs.status_of(alive.run_id) is DagsterRunStatus.STARTED


def test_a_run_killed_before_it_had_a_build_is_closed_once_it_has_been_silent(runs: Runs) -> None:
    killed = runs.begin(QUICK_UPDATE, DagsterRunStatus.STARTED)
    never_started = runs.begin(QUICK_UPDATE, DagsterRunStatus.NOT_STARTED)
    audit = runs.begin(AUDIT, DagsterRunStatus.STARTED)
    working = runs.begin(QUICK_UPDATE, DagsterRunStatus.STARTED)
    runs.world.sql(
        "insert into memory.build (mode, scope, dagster_run_id, executor)"
        " values ('incremental', '{\"bucket\": 0}', %s, 'in_process')",
        working.run_id,
    )

    for seconds, expected in ((60, DagsterRunStatus.STARTED), (130, DagsterRunStatus.FAILURE)):
        report_silent_runs(runs.instance, runs.world.connection, now=time.time() + seconds)
        assert runs.status_of(killed.run_id) is expected

    assert runs.status_of(never_started.run_id) is DagsterRunStatus.FAILURE
    assert runs.status_of(audit.run_id) is DagsterRunStatus.STARTED
    assert runs.status_of(working.run_id) is DagsterRunStatus.STARTED
    report_silent_runs(runs.instance, runs.world.connection, now=time.time() + 3700)
    assert runs.status_of(audit.run_id) is DagsterRunStatus.FAILURE


def test_a_run_without_a_failed_step_has_no_failure(runs: Runs) -> None:
    run = runs.begin(QUICK_UPDATE, DagsterRunStatus.SUCCESS)

    assert first_failure(runs.instance, run.run_id) is None
