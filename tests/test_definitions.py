import dagster as dg
import pytest

from orbit_pipelines import jobs
from orbit_pipelines.definitions import defs
from orbit_pipelines.sensors import sensors

EDGES = {
    "chat_history": set(),
    "exclusion_flags": set(),
    "plan_assignments": set(),
    "extraction": {"chat_history", "exclusion_flags", "plan_assignments"},
    "pairing": {"extraction"},
    "chunking": {"pairing"},
    "embedding": {"chunking"},
    "diff_apply": {"embedding"},
    "build_lineage": {"diff_apply"},
}
SPECS = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_the_code_location_is_sound() -> None:
    dg.Definitions.validate_loadable(defs)


def test_the_graph_has_these_assets_and_edges_and_no_others() -> None:
    graph = {key: {dep.asset_key.to_user_string() for dep in spec.deps} for key, spec in SPECS.items()}

    assert graph == EDGES


@pytest.mark.parametrize("key", EDGES)
def test_each_asset_tells_what_it_is_who_owns_it_and_what_it_is_made_with(key: str) -> None:
    spec = SPECS[key]

    assert spec.description
    assert len(spec.description.splitlines()[0]) > 30
    assert spec.owners
    assert spec.kinds
    assert spec.group_name in {"application", "memory", "lineage"}


@pytest.mark.parametrize("key", [jobs.QUICK_UPDATE, jobs.FULL_REBUILD])
def test_a_build_job_runs_every_asset(key: str) -> None:
    job = defs.resolve_job_def(key)

    assert {asset.to_user_string() for asset in job.asset_layer.selected_asset_keys} == set(EDGES)


def test_the_audit_runs_every_check_and_no_asset() -> None:
    job = defs.resolve_job_def(jobs.AUDIT)
    checks = {f"{key.asset_key.to_user_string()}_{key.name}" for key in defs.resolve_asset_graph().asset_check_keys}

    assert not job.asset_layer.selected_asset_keys
    assert set(job.graph.node_dict) == checks
    assert "diff_apply_index_equals_extraction" in checks


def test_what_runs_by_itself_runs_from_the_start() -> None:
    repository = defs.get_repository_def()

    schedules = {schedule.name: schedule for schedule in repository.schedule_defs}
    assert {name: (each.job_name, each.cron_schedule) for name, each in schedules.items()} == {
        "hourly_quick_update": (jobs.QUICK_UPDATE, "0 * * * *"),
        "nightly_audit": (jobs.AUDIT, "0 3 * * *"),
    }
    assert {each.default_status for each in schedules.values()} == {dg.DefaultScheduleStatus.RUNNING}
    assert [each.name for each in repository.sensor_defs] == ["memory_changes"]
    assert {each.default_status for each in repository.sensor_defs} == {dg.DefaultSensorStatus.RUNNING}


def test_runs_of_many_processes_have_sensors_that_close_their_builds() -> None:
    many = sensors("multiprocess")

    assert {each.name for each in many} == {
        "memory_changes",
        "close_build_after_success",
        "close_build_after_failure",
        "close_build_after_canceled",
    }
    assert {each.default_status for each in many} == {dg.DefaultSensorStatus.RUNNING}


def test_a_full_rebuild_is_full_without_being_told() -> None:
    job = defs.resolve_job_def(jobs.FULL_REBUILD)

    assert job.run_config == {"resources": {"build": {"config": {"mode": "full"}}}}


def test_the_launchpad_explains_the_options_of_a_build() -> None:
    shape = defs.resolve_job_def(jobs.QUICK_UPDATE).resource_defs["build"].config_schema.config_type
    assert isinstance(shape, dg.Shape)
    fields = shape.fields

    assert {"mode", "users", "re_embed"} <= set(fields)
    for name in ("mode", "users", "re_embed"):
        assert fields[name].description
        assert fields[name].default_provided
