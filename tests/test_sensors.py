import dagster as dg
from dagster import DagsterRunStatus

from orbit_pipelines.jobs import FULL_REBUILD, QUICK_UPDATE
from orbit_pipelines.model import Store
from orbit_pipelines.sensors import memory_changes, sensors
from resources.database import MemoryDatabase
from tests.running import Runs

ANN = Store("ann")


def tick(runs: Runs) -> dg.RunRequest | dg.SkipReason:
    context = dg.build_sensor_context(instance=runs.instance, resources={"database": MemoryDatabase()})
    answer = memory_changes(context)
    assert isinstance(answer, dg.RunRequest | dg.SkipReason)
    return answer


def populate(runs: Runs) -> str:
    runs.world.account("ann")
    return runs.world.say(ANN, "s1", "What rhymes with orange?", "> Nothing does.")[0]


def test_new_content_requests_a_quick_update_once_however_often_it_looks(runs: Runs) -> None:
    populate(runs)

    first, second = tick(runs), tick(runs)

    assert isinstance(first, dg.RunRequest)
    assert isinstance(second, dg.RunRequest)
    assert first.run_key == second.run_key, "Dagster launches one run a key"


def test_a_failed_build_is_not_requested_again_until_something_changes(runs: Runs) -> None:
    populate(runs)
    before = tick(runs)
    runs.world.sql("insert into memory.build (mode, scope, status) values ('incremental', '{\"bucket\": 0}', 'failed')")
    after = tick(runs)
    runs.world.say(ANN, "s1", "And with silver?")
    changed = tick(runs)

    assert isinstance(before, dg.RunRequest)
    assert isinstance(after, dg.RunRequest)
    assert isinstance(changed, dg.RunRequest)
    assert before.run_key == after.run_key != changed.run_key


def test_nothing_new_requests_nothing(runs: Runs) -> None:
    populate(runs)
    runs.job()

    assert isinstance(tick(runs), dg.SkipReason)


def test_a_toggle_requests_nothing(runs: Runs) -> None:
    message = populate(runs)
    runs.job()

    runs.world.remember(ANN, "s1", message, remembered=False)

    assert isinstance(tick(runs), dg.SkipReason)


def test_a_closed_session_requests_nothing(runs: Runs) -> None:
    populate(runs)
    runs.job()

    runs.world.sql("update orbitpilot.session set closed_at = now()")

    assert isinstance(tick(runs), dg.SkipReason)


def test_a_switched_off_source_requests_a_build(runs: Runs) -> None:
    populate(runs)
    runs.job()

    runs.world.sql("update orbitpilot.memory_source set in_rag = false where source_key = 'orbitpilot.chat_history'")

    assert isinstance(tick(runs), dg.RunRequest)


def test_it_waits_while_a_build_is_queued_or_in_progress(runs: Runs) -> None:
    populate(runs)
    for job in (QUICK_UPDATE, FULL_REBUILD):
        for status in (DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED):
            run = runs.begin(job, status)

            answer = tick(runs)

            assert isinstance(answer, dg.SkipReason)
            assert job in str(answer.skip_message)
            runs.instance.report_run_canceled(run)
    assert isinstance(tick(runs), dg.RunRequest)


def test_a_killed_build_makes_it_wait_for_nothing(runs: Runs) -> None:
    populate(runs)
    run = runs.begin(QUICK_UPDATE, DagsterRunStatus.STARTED)
    runs.world.sql(
        "insert into memory.build (mode, scope, dagster_run_id, executor)"
        " values ('incremental', '{\"bucket\": 0}', %s, 'in_process')",
        run.run_id,
    )

    answer = tick(runs)

    assert isinstance(answer, dg.RunRequest)
    assert [status for status, _ in runs.builds()] == ["died"]
    assert runs.status_of(run.run_id) is DagsterRunStatus.FAILURE


def test_a_run_of_many_processes_is_closed_when_it_ends(runs: Runs) -> None:
    folder = runs.world.settings.workspaces
    for status, expected in (
        (DagsterRunStatus.SUCCESS, "unpublished"),
        (DagsterRunStatus.FAILURE, "failed"),
        (DagsterRunStatus.CANCELED, "failed"),
    ):
        run = runs.begin(QUICK_UPDATE, status)
        (folder / run.run_id).mkdir(parents=True)
        runs.world.sql(
            "insert into memory.build (mode, scope, dagster_run_id, executor)"
            " values ('incremental', '{\"bucket\": 0}', %s, 'multiprocess')",
            run.run_id,
        )
        close = next(each for each in sensors("multiprocess") if each.name.endswith(status.value.lower()))
        event = dg.DagsterEvent(event_type_value="PIPELINE_SUCCESS", job_name=QUICK_UPDATE)
        context = dg.build_run_status_sensor_context(
            close.name, event, runs.instance, run, resources={"database": MemoryDatabase()}
        )

        close(context)

        assert runs.builds()[-1][0] == expected
        assert runs.leftovers() == []
