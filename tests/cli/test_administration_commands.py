from pathlib import Path
from typing import Any

import pytest

Orbit = Any


def chat_history(orbit: Orbit, user: str = "ana") -> str | None:
    """Return why chat history is left out, None when it is included."""
    statuses = {each["source_key"]: each["reason"] for each in orbit.json("sources", "--user", user)}
    reason: str | None = statuses["orbitpilot.chat_history"]
    return reason


def test_an_account_is_made_once_and_put_on_plans(orbit: Orbit) -> None:
    assert "Made" in orbit("account", "add", "ana").stdout
    assert "already" in orbit("account", "add", "ana").stdout
    orbit("plan", "add", "small", "--cap", "2")
    assert "orbit build" in orbit("account", "plan", "ana", "small").stdout
    assert chat_history(orbit) == "source_over_cap"
    [person] = orbit.json("account", "list")
    assert (person["user_id"], person["plan_key"], person["is_on_default_plan"]) == ("ana", "small", False)
    orbit("account", "plan", "ana", "--default")
    assert chat_history(orbit) is None
    assert orbit("account", "plan", "ana").exit_code == 2


def test_removing_an_account_asks_first(imported: Orbit) -> None:
    refused = imported("account", "remove", "ana", input="n\n")
    assert refused.exit_code == 1
    assert len(imported.json("account", "list")) == 1
    assert imported("account", "remove", "ana", input="y\n").exit_code == 0
    assert imported.json("account", "list") == []
    assert imported("account", "remove", "ana", "--yes").exit_code == 2


def test_caps_assignments_and_switches_decide_about_sources(orbit: Orbit) -> None:
    orbit("plan", "add", "family", "--title", "Family")
    orbit("account", "add", "ana", "--plan", "family")
    assert chat_history(orbit) == "source_over_cap"
    assert "4 sources" in orbit("plan", "cap", "family", "4").stdout
    assert chat_history(orbit) is None
    orbit("assign", "family", "orbitpilot.chat_history", "--not-visible")
    assert chat_history(orbit) == "source_not_assigned"
    orbit("assign", "family", "orbitpilot.chat_history", "--clear")
    assert chat_history(orbit) is None
    orbit("switch", "orbitpilot.chat_history", "--off")
    assert chat_history(orbit) == "source_switched_off"
    assert "source_switched_off" in orbit("sources", "--user", "ana").stdout
    assert "already" in orbit("switch", "orbitpilot.chat_history", "--off").stdout


def test_plans_are_listed_with_people_and_sources(orbit: Orbit) -> None:
    orbit("account", "add", "ana")
    orbit("plan", "add", "small", "--cap", "0")
    default, small = orbit.json("plan", "list")
    assert (default["plan_key"], default["is_default"], default["accounts"]) == ("default", True, 1)
    assert {each["reason"] for each in small["sources"]} == {"source_over_cap"}
    assert "small" in orbit("plan", "list").stdout


@pytest.mark.parametrize(
    "command",
    [
        ["account", "plan", "nobody", "default"],
        ["account", "add", "ana", "--plan", "none"],
        ["plan", "cap", "none", "3"],
        ["plan", "cap", "default", "--", "-1"],
        ["assign", "default", "none", "--visible"],
        ["assign", "default", "blink.blinks"],
        ["assign", "default", "blink.blinks", "--visible", "--clear"],
        ["assign", "default", "blink.blinks", "--visible", "--not-visible"],
        ["switch", "none", "--on"],
        ["switch", "blink.blinks", "--on", "--off"],
        ["switch", "blink.blinks"],
        ["account", "add", "ana", "--locale", ""],
        ["plan", "add", "small", "--title", ""],
        ["plan", "add", "small", "--cap", "99999999999"],
        ["plan", "cap", "default", "99999999999"],
        ["sources", "--user", "nobody"],
        ["record", "list", "--user", "nobody"],
        ["record", "put", "profile.facts", "x", "--user", "nobody", "--text", "x"],
        ["record", "put", "profile.facts", "x", "--user", "nobody"],
        ["record", "put", "profile.facts", "x", "--user", "nobody", "--file", "/no/such/file"],
        ["record", "exclude", "profile.facts", "x", "--user", "nobody"],
    ],
)
def test_what_does_not_exist_or_makes_no_sense_is_a_wrong_use(orbit: Orbit, command: list[str]) -> None:
    result = orbit(*command)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr != ""


WITH_AN_ID = [
    ["account", "add", "ID"],
    ["account", "plan", "ID", "default"],
    ["account", "plan", "ana", "ID"],
    ["account", "remove", "ID", "--yes"],
    ["plan", "add", "ID"],
    ["plan", "cap", "ID", "3"],
    ["assign", "ID", "blink.blinks", "--visible"],
    ["assign", "default", "ID", "--visible"],
    ["switch", "ID", "--off"],
    ["sources", "--user", "ID"],
    ["record", "put", "profile.facts", "ID", "--user", "ana", "--text", "x"],
    ["record", "put", "ID", "x", "--user", "ana", "--text", "x"],
    ["record", "exclude", "profile.facts", "ID", "--user", "ana"],
    ["record", "list", "--user", "ana", "--agent", "ID"],
    ["import", "EXPORT", "--user", "ID", "--create-user"],
    ["import", "EXPORT", "--user", "ana", "--agent", "ID"],
    ["build", "--user", "ID"],
    ["pairs", "--user", "ID"],
    ["why", "s1", "s1-0", "--user", "ID"],
    ["why", "ID", "s1-0", "--user", "ana"],
    ["flag", "s1", "ID", "--user", "ana", "--remembered"],
]


@pytest.mark.parametrize("command", WITH_AN_ID, ids=" ".join)
def test_what_can_be_no_id_is_a_wrong_use(imported: Orbit, export: Path, command: list[str]) -> None:
    for wrong in ("", " ", "a\nb", "x" * 257, "x" * 5300, "\udc80"):
        if len(wrong) > 256 and command[0] in ("why", "flag") and command[-1] != "ID":
            continue  # whatever an application stored can be named
        words = {"ID": wrong, "EXPORT": str(export)}
        result = imported(*(words.get(word, word) for word in command))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr != ""


@pytest.mark.parametrize("user", ["x" * 256, "Zoë O'Neill", "a@b.example", "%", "😀"])
def test_what_people_are_called_can_be_an_id(orbit: Orbit, user: str) -> None:
    assert orbit("account", "add", user).exit_code == 0
    assert orbit.json("account", "list")[0]["user_id"] == user


@pytest.mark.parametrize(
    "command",
    [
        ["pairs"],
        ["why", "s1", "s1-0"],
        ["flag", "s1", "s1-0", "--remembered"],
        ["record", "exclude", "profile.facts", "x"],
        ["record", "remove", "profile.facts", "x"],
        ["sources"],
    ],
    ids=" ".join,
)
def test_a_missing_account_is_what_is_said_to_be_missing(imported: Orbit, command: list[str]) -> None:
    result = imported(*command, "--user", "zzz")
    assert result.exit_code == 2
    assert "o account 'zzz'" in result.stderr


def test_a_record_is_put_excluded_included_and_removed(orbit: Orbit, tmp_path: Path) -> None:
    fact = ("profile.facts", "allergy")
    orbit("account", "add", "ana")
    assert "Stored" in orbit("record", "put", *fact, "--user", "ana", "--text", "Hazelnuts.").stdout
    assert "already" in orbit("record", "put", *fact, "--user", "ana", "--text", "Hazelnuts.").stdout
    text = tmp_path / "fact.txt"
    text.write_text("Hazelnuts and walnuts.", "utf-8")
    assert "Stored" in orbit("record", "put", *fact, "--user", "ana", "--file", str(text)).stdout
    orbit("record", "put", "files.documents", "lease", "--user", "ana", "--file", "-", input="The lease.")
    orbit("record", "exclude", "files.documents", "lease", "--user", "ana")
    lease, allergy = orbit.json("record", "list", "--user", "ana")
    assert (lease["state"], lease["reason"]) == ("not_remembered", "record_excluded")
    assert (allergy["state"], allergy["text"]) == ("pending", "Hazelnuts and walnuts.")
    orbit("record", "include", "files.documents", "lease", "--user", "ana")
    assert {each["state"] for each in orbit.json("record", "list", "--user", "ana")} == {"pending"}
    assert "Deleted" in orbit("record", "remove", *fact, "--user", "ana").stdout
    assert "lease" in orbit("record", "list", "--user", "ana").stdout
