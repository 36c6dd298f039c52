from collections.abc import Callable
from typing import Any

import pytest

Orbit = Any
Build = Callable[[], int]


def states(orbit: Orbit) -> list[tuple[str, str | None]]:
    return [(pair["state"], pair["reason"]) for pair in orbit.json("pairs", "--user", "ana")]


def test_every_pair_is_listed_in_session_and_pair_order(imported: Orbit) -> None:
    pairs = imported.json("pairs", "--user", "ana")
    assert [pair["source_id"] for pair in pairs] == ["s1:0", "s1:1", "s2:0", "s2:1"]
    assert [pair["message_id"] for pair in pairs] == ["s1-0", "s1-2", "s2-0", "s2-2"]
    assert list(pairs[3]) == [
        "session_id",
        "pair_index",
        "source_id",
        "message_id",
        "user_text",
        "reply_text",
        "state",
        "reason",
    ]
    assert (pairs[3]["user_text"], pairs[3]["reply_text"]) == ("Pour ma mère.", None)


def test_a_flag_is_pending_until_the_next_build_and_so_is_its_return(imported: Orbit, build: Build) -> None:
    assert {state for state, _ in states(imported)} == {"pending"}
    build()
    assert {state for state, _ in states(imported)} == {"remembered"}
    flagged = imported("flag", "s1", "s1-0", "--user", "ana", "--not-remembered")
    assert "orbit build" in flagged.stdout
    assert states(imported)[0] == ("pending_removal", "not_remembered")
    build()
    assert states(imported)[0] == ("not_remembered", "not_remembered")
    assert imported.json("why", "s1", "s1-0", "--user", "ana")["in_memory"] is False
    imported("flag", "s1", "s1-0", "--user", "ana", "--remembered")
    assert states(imported)[0] == ("pending_return", "remembered_again")
    build()
    assert states(imported)[0][0] == "remembered"


def test_the_same_flag_again_changes_nothing(imported: Orbit) -> None:
    assert imported.json("flag", "s1", "s1-0", "--user", "ana", "--not-remembered") == {
        "not_remembered": True,
        "was_changed": True,
    }
    again = imported("flag", "s1", "s1-0", "--user", "ana", "--not-remembered")
    assert again.exit_code == 0
    assert "already" in again.stdout


def test_why_names_the_reason_and_the_build(imported: Orbit, build: Build) -> None:
    build_id = build()
    story = imported.json("why", "s1", "s1-0", "--user", "ana")
    assert story["in_memory"] is True
    assert story["decision"]["build_id"] == build_id
    assert "In memory: new_pair" in imported("why", "s1", "s1-0", "--user", "ana").stdout


def test_what_is_not_there_is_a_wrong_use_that_says_where_to_look(imported: Orbit) -> None:
    flag = ["flag", "--remembered"]
    for command in (["why", "s1", "none"], [*flag, "s9", "s1-0"], [*flag, "s1", "s1-1"]):
        result = imported(*command, "--user", "ana")
        assert result.exit_code == 2
        assert result.stdout == ""
    assert imported("pairs", "--user", "nobody").exit_code == 2


@pytest.mark.parametrize("said", [[], ["--remembered", "--not-remembered"]], ids=["neither", "both"])
def test_a_flag_says_one_of_two_things(imported: Orbit, said: list[str]) -> None:
    result = imported("flag", "s1", "s1-0", "--user", "ana", *said)
    assert result.exit_code == 2
    assert "--remembered or --not-remembered" in result.stderr


def test_a_text_steers_no_terminal(orbit: Orbit, export: Any) -> None:
    export.write_text(export.read_text().replace("I keep bees.", "I \\u001b[31mkeep [bold]bees[/bold].\\nAnd hens."))
    orbit("import", str(export), "--user", "ana", "--create-user")
    shown = orbit("pairs", "--user", "ana").stdout
    assert "\x1b" not in shown
    assert "[bold]bees[/bold]. And hens." in shown
    assert "\x1b" in orbit.json("pairs", "--user", "ana")[0]["user_text"]


def test_tables_fit_eighty_columns(imported: Orbit, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = imported("pairs", "--user", "ana").stdout.splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 80
