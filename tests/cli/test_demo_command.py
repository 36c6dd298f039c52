from typing import Any

import pytest

Orbit = Any


def test_the_demo_builds_the_sample_and_then_finds_nothing_changed(
    orbit: Orbit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    first = orbit("demo")
    assert first.exit_code == 0, first.output
    for person in ("mara", "noor", "sam", "camille"):
        assert person in first.stdout
    for reason in ("source_over_cap", "source_not_assigned", "not_remembered"):
        assert reason in first.stdout
    assert "lineage.duckdb" in first.stdout
    assert "orbit why" in first.stdout
    by_account = first.stdout.partition("by account:\n\n")[2].partition("\n\n")[0]
    assert "sam" in by_account
    assert max(map(len, by_account.splitlines())) <= 80
    again = orbit("demo")
    assert again.exit_code == 0
    assert "Nothing changed" in again.stdout
    status = orbit.json("status")["memory"]
    assert status["last_build"]["status"] == "unchanged"
    assert not status["is_behind"]
