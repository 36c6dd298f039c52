from pathlib import Path

import yaml
from dagster import DagsterInstance

from orbit_pipelines.dagster_home import prepare_dagster_home, project_file
from orbit_pipelines.settings import Settings


def test_dagsters_home_holds_the_projects_instance_file_as_it_is_now(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    home = prepare_dagster_home(settings)
    (home / "dagster.yaml").write_text("storage: {}")

    assert prepare_dagster_home(settings) == home

    assert (home / "dagster.yaml").read_bytes() == project_file("dagster.yaml").read_bytes()
    assert [file.name for file in home.iterdir()] == ["dagster.yaml"]


def test_dagster_tells_nobody_and_has_no_pools() -> None:
    instance = yaml.safe_load(project_file("dagster.yaml").read_text())

    assert instance["telemetry"] == {"enabled": False}
    assert "pools" not in instance["concurrency"]
    assert instance["storage"]["postgres"]["postgres_url"] == {"env": "ORBIT_DAGSTER_URL"}


def test_dagster_accepts_the_instance_file(tmp_path: Path) -> None:
    config = yaml.safe_load(project_file("dagster.yaml").read_text())
    del config["storage"]

    with DagsterInstance.local_temp(str(tmp_path), overrides=config) as instance:
        assert not instance.telemetry_enabled
        assert instance.get_concurrency_config().run_queue_config is not None
