"""`orbit verify`: it finds what is there, finds nothing after a forget, and never writes."""

from collections.abc import Callable

import pytest

from orbit_pipelines.database.connection import connect
from orbit_pipelines.settings import Settings
from tests.cli.conftest import Orbit

S1 = ("--user", "ana", "--session", "s1")


@pytest.fixture
def built(imported: Orbit, build: Callable[[], int]) -> Orbit:
    """The command line of an installation that is built and up to date."""
    build()
    return imported


def test_what_was_never_forgotten_is_found(built: Orbit) -> None:
    told = built.json("verify", *S1, exit_code=1)

    assert not told["is_passed"]
    assert told["sessions"] == ["s1"]
    assert told["kinds"]["chunks"]["found"] == 2
    assert {name for name, each in told["roads"].items() if each["found"]} >= {"fence", "rows", "texts", "vectors"}
    assert "run orbit forget again, with the same selectors" in built("verify", *S1).stderr


def test_nothing_is_found_after_a_forget_and_the_next_build(built: Orbit, build: Callable[[], int]) -> None:
    built.json("forget", *S1)
    build()

    told = built.json("verify", *S1)

    assert told["is_passed"]
    assert told["roads"]["vectors"]["looked_at"] > 0
    assert told["roads"]["vectors"]["not_looked"] is None
    assert "Nothing found, as far as was looked." in built("verify", *S1).stdout


def test_what_was_planted_back_is_found(built: Orbit, settings: Settings) -> None:
    with connect(str(settings.database_url), autocommit=True) as connection:
        connection.execute("create table kept as select * from memory.chunk where session_id = 's1'")
        built.json("forget", *S1)
        connection.execute("update kept set session_id = 's2', source_id = 's2:9' || source_id")
        connection.execute("insert into memory.chunk select * from kept")

    told = built.json("verify", *S1, exit_code=1)

    assert told["kinds"]["chunks"]["found"] == 0
    assert list(told["roads"]["vectors"]["where"].values()) == [1, 1]
    assert all(place.startswith("memory.chunk orbitpilot/") for place in told["roads"]["vectors"]["where"])


def test_a_model_that_made_no_stored_vector_is_not_asked(built: Orbit, monkeypatch: pytest.MonkeyPatch) -> None:
    built.json("forget", *S1)
    monkeypatch.setenv("ORBIT_EMBEDDING_DIMENSIONS", "5")

    told = built.json("verify", *S1)

    assert told["roads"]["vectors"]["not_looked"].startswith("no vector of the selection was at hand")
    assert "not looked" in built("verify", *S1).stdout


def everything(settings: Settings) -> dict[str, list[str]]:
    """Return every row of every table, as text."""
    with connect(str(settings.database_url), autocommit=True) as connection:
        tables = connection.execute(
            "select oid::regclass::text from pg_class where relkind = 'r'"
            " and relnamespace in ('memory'::regnamespace, 'orbitpilot'::regnamespace)"
        ).fetchall()
        return {
            name: [row[0] for row in connection.execute(f"select t::text from {name} as t order by 1".encode())]
            for (name,) in tables
        }


def test_verification_writes_nothing(built: Orbit, settings: Settings) -> None:
    before = everything(settings)

    built("verify", *S1)

    assert everything(settings) == before


def test_it_takes_selectors_as_a_forget_does(built: Orbit) -> None:
    assert built("verify", "--user", "ana").exit_code == 2
    assert built("verify", *S1, "--physical").exit_code == 2
    assert built("verify", "--user", "ana", "--participant", "nobody").exit_code == 2
    assert built("verify", "--user", "nobody", "--session", "s1").exit_code == 2
