from typing import Any

Orbit = Any


def test_the_demo_builds_the_sample_and_then_finds_nothing_changed(orbit: Orbit) -> None:
    first = orbit("demo")
    assert first.exit_code == 0, first.output
    for person in ("mara", "noor", "sam", "camille"):
        assert person in first.stdout
    for reason in ("source_over_cap", "source_not_assigned", "not_remembered"):
        assert reason in first.stdout
    assert "lineage.duckdb" in first.stdout
    assert "orbit why" in first.stdout
    assert orbit.json("status")["memory"]["last_build"]["mode"] == "full"
    again = orbit("demo")
    assert again.exit_code == 0
    assert "Nothing changed" in again.stdout
    assert orbit.json("status")["memory"]["last_build"]["status"] == "unchanged"


def test_what_it_prints_fits_eighty_columns_but_for_paths_and_commands(orbit: Orbit, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = orbit("demo").stdout
    table = shown.partition("by account:\n\n")[2].partition("\n\n")[0]
    assert "sam" in table
    assert max(map(len, table.splitlines())) <= 80
