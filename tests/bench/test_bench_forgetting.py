import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from orbit_pipelines.bench import forgetting
from orbit_pipelines.bench.conversations import Conversations, read_conversations
from orbit_pipelines.bench.forget_tables import forget_tables, speed_table
from orbit_pipelines.bench.forgetting import ForgetMeasured, choose_sessions, measure_forgetting
from orbit_pipelines.bench.forgetting_speed import measure_speed
from orbit_pipelines.bench.places import Place
from orbit_pipelines.cli.app import app
from orbit_pipelines.forgetting.kinds import Touched
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.resolving import resolve
from orbit_pipelines.history.importing import import_sessions
from orbit_pipelines.history.stream import ParsedSession


@given(st.integers(1, 9), st.integers(0, 99), st.floats(0.01, 0.99))
def test_some_sessions_are_chosen_and_never_all_the_same_for_the_same_seed(count: int, seed: int, part: float) -> None:
    people = [Conversations("ann", tuple(ParsedSession(f"s{number}", ()) for number in range(count)), ())]

    chosen = choose_sessions(people, seed, part)

    assert 1 <= len(set(chosen["ann"])) <= max(1, count - 1)
    assert choose_sessions(people, seed, part) == chosen


def test_nothing_leaks_comes_back_or_is_lost(place: Place) -> None:
    said: list[str] = []
    [measured] = measure_forgetting(place, read_conversations(), [3], 0.5, said.append)

    assert measured.is_clean, measured
    assert measured.evidence_forgotten > 0
    assert measured.evidence_kept > 0
    assert measured.chunks_purged > 0
    assert len(measured.resurrected) == 5
    assert len(said) == 7


def _forget_nothing(connection: Any, settings: Any, request: Any) -> Report:
    return Report(resolve(connection, request.selectors), {"chunks": Touched()}, dry_run=False)


def _forget_everything(connection: Any, settings: Any, request: Any) -> Report:
    connection.execute("delete from memory.chunk")
    connection.execute("delete from orbitpilot.message")
    return _forget_nothing(connection, settings, request)


def test_what_leaks_and_what_comes_back_is_counted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "forget", _forget_nothing)

    [measured] = measure_forgetting(place, read_conversations(), [3], 0.5)

    assert measured.leaked == measured.evidence_forgotten > 0
    assert measured.resurrected["a full rebuild"] == measured.leaked
    assert measured.unverified > 0
    assert not measured.is_clean


def test_what_is_lost_beside_the_selection_is_counted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "forget", _forget_everything)
    monkeypatch.setattr(forgetting, "import_sessions", _import_once())

    [measured] = measure_forgetting(place, read_conversations(), [3], 0.5)

    assert measured.lost == measured.evidence_kept > 0
    assert not measured.is_clean


def _import_once() -> Any:
    imported: set[Any] = set()

    def import_once(connection: Any, store: Any, sessions: Any, **options: Any) -> Any:
        if store in imported:
            return None
        imported.add(store)
        return import_sessions(connection, store, sessions, **options)

    return import_once


def test_the_seconds_of_a_forget_are_measured(place: Place) -> None:
    speed = measure_speed(place, 500, sessions=2)

    assert speed.chunks > 0
    assert 0 < speed.fence_seconds <= speed.rows_seconds <= speed.verified_seconds
    assert f"{speed.chunks:,} chunks" in speed_table(speed).title


def test_the_tables_show_every_round() -> None:
    measured = ForgetMeasured(7, 2, 9, 3, 1_234, 5, 6, 0, {"a full rebuild": 0}, 0, 0)

    forgotten, outcomes = forget_tables([measured])

    assert forgotten.rows == (("7", "2", "9", "3", "1,234", "5", "6"),)
    assert outcomes.columns[2] == "after a full rebuild"
    assert outcomes.rows == (("7", "0", "0", "0", "nothing found"),)


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_command_fails_when_anything_leaks(place: Place, monkeypatch: pytest.MonkeyPatch, is_clean: bool) -> None:
    measured = ForgetMeasured(1, 2, 9, 3, 4, 5, 6, 0 if is_clean else 1, {}, 0, 0)
    monkeypatch.setattr(forgetting, "measure_forgetting", lambda *_arguments: [measured])
    monkeypatch.setenv("ORBIT_HOME", str(place.folder))
    monkeypatch.setenv("ORBIT_DATABASE_URL", place.server_url)

    result = CliRunner().invoke(app, ["bench", "forget", "--json"])

    assert result.exit_code == (0 if is_clean else 1), result.output
    assert json.loads(result.stdout)["is_clean"] is is_clean
