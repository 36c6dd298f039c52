import pytest

from orbit_pipelines.errors import SchemaMismatch
from resources.database import MemoryDatabase
from tests.running import Runs


def test_a_connection_commits_each_statement_by_itself(runs: Runs) -> None:
    with MemoryDatabase().connect() as connection:
        assert connection.autocommit


def test_a_database_of_another_schema_is_refused_with_what_to_run(runs: Runs) -> None:
    runs.world.sql("update public.orbit_schema_version set version_num = '0001_foundation'")

    with pytest.raises(SchemaMismatch, match="orbit migrate"):
        MemoryDatabase().connect()


def test_no_field_could_show_a_password() -> None:
    assert set(MemoryDatabase.model_fields) == set()
