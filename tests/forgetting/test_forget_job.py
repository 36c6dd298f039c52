"""The Dagster job `forget`: the same selectors and service as the command, no text in what Dagster keeps."""

from typing import Any

from orbit_pipelines.jobs import FORGET
from tests.forgetting.forgetful import forget_in, talk
from tests.running import Runs


def run_config(**options: Any) -> dict[str, Any]:
    return {"ops": {"forget_sessions": {"config": {"user": "me", **options}}}}


def metadata_of(result: Any) -> dict[str, Any]:
    [output] = result.filter_events(lambda event: event.is_successful_output)
    return dict(output.event_specific_data.metadata)


def test_the_job_forgets_at_once_by_the_same_selectors(runs: Runs) -> None:
    world = runs.world
    talk(world)
    preview = forget_in(world, sessions=("s1",), dry_run=True)
    result = runs.job(FORGET, run_config(sessions=["s1"]))
    assert result.success
    metadata = metadata_of(result)
    assert metadata["digest"].value == preview.digest
    assert metadata["sessions"].value == ["s1"]
    assert set(world.contents()) == {"s2:0", "s2:1", "s3:0", "s3:1"}


def test_the_jobs_dry_run_shows_and_writes_nothing(runs: Runs) -> None:
    world = runs.world
    talk(world)
    result = runs.job(FORGET, run_config(sessions=["s1"], dry_run=True))
    metadata = metadata_of(result)
    assert metadata["dry_run"].value is True
    kinds = {row.data["kind"]: row.data["count"] for row in metadata["artifacts"].records}
    assert (kinds["chunks"], kinds["lineage"]) == (2, 2)
    assert len(world.contents()) == 6
    assert world.sql("select count(*) from memory.tombstone") == [(0,)]


def test_the_job_refuses_what_the_command_refuses(runs: Runs) -> None:
    talk(runs.world)
    assert not runs.job(FORGET, run_config()).success
    assert not runs.job(FORGET, run_config(sessions=["s1"], since="2026-03-01T00:00:00")).success
    assert not runs.job(FORGET, run_config(sessions=["s1"], if_plan="0" * 64)).success
    assert len(runs.world.contents()) == 6


def test_a_refused_plan_shows_the_report_as_it_is_now(runs: Runs) -> None:
    world = runs.world
    talk(world)
    preview = forget_in(world, sessions=("s1",), dry_run=True)
    result = runs.job(FORGET, run_config(sessions=["s1"], if_plan="0" * 64))
    [failure] = result.filter_events(lambda event: event.is_step_failure)
    failed: Any = failure.event_specific_data
    told = failed.user_failure_data
    assert preview.digest in told.description
    assert told.metadata["digest"].value == preview.digest
    assert {row.data["kind"] for row in told.metadata["artifacts"].records} >= {"chunks", "lineage"}
    assert len(world.contents()) == 6


def test_no_text_of_a_message_reaches_dagsters_events(runs: Runs) -> None:
    talk(runs.world)
    result = runs.job(FORGET, run_config(sessions=["s1"]))
    events = " ".join(str(entry) for entry in runs.instance.all_logs(result.run_id))
    assert "s1" in events
    assert "tea" not in events
    assert "Jam too" not in events
