from typing import Any

import pytest

from orbit_pipelines.database.connection import connect

Orbit = Any


def sql(orbit: Orbit, query: str) -> None:
    with connect(orbit.environment["ORBIT_DATABASE_URL"], autocommit=True) as connection:
        connection.execute(query.encode())


def test_rules_are_added_listed_and_removed(orbit: Orbit) -> None:
    orbit("account", "add", "ana")
    assert orbit.json("admission", "list") == []
    assert "every session" in orbit("admission", "list").stdout
    made = orbit(
        "admission", "add", "--channel", "slack", "--channel", " slack ", "--participant", "U1", "--user", "ana"
    )
    assert "2 rules added." in made.stdout
    assert "orbit build" in made.stdout
    assert "in force already" in orbit("admission", "add", "--participant", "U1", "--user", "ana").stdout
    assert orbit.json("admission", "add", "--session-kind", "cron", "--agent", "a")["added"] == 1

    rules = orbit.json("admission", "list")
    assert [(rule["kind"], rule["value"], rule["user_id"], rule["agent_id"]) for rule in rules] == [
        ("channel", "slack", "ana", None),
        ("participant", "U1", "ana", None),
        ("session_kind", "cron", None, "a"),
    ]
    assert "everyone" in orbit("admission", "list").stdout
    assert "1 rule removed." in orbit("admission", "remove", "--channel", "slack", "--user", "ana").stdout
    answer = orbit.json("admission", "remove", str(rules[1]["rule_id"]), str(rules[2]["rule_id"]))
    assert answer == {"removed": 2, "rules": []}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add"], "No rule given"),
        (["add", "--channel", " "], "can't be empty"),
        (["add", "--channel", "slack", "--user", "nobody"], "no account 'nobody'"),
        (["remove"], "No rule named"),
        (["remove", "7"], "no rule 7"),
        (["remove", "--channel", "slack"], "no such rule: channel 'slack' of everyone"),
        (["remove", "7", "--user", "ana"], "leave out --user"),
    ],
)
def test_a_wrong_request_says_what_is_wrong_and_changes_nothing(orbit: Orbit, arguments: list[str], says: str) -> None:
    orbit("account", "add", "ana")
    refused = orbit("admission", *arguments)

    assert refused.exit_code == 2
    assert says in " ".join(refused.output.split())
    assert orbit.json("admission", "list") == []


def test_status_and_why_say_what_is_kept_out(imported: Orbit, build: Any) -> None:
    [first, *_] = imported.json("pairs", "--user", "ana")
    imported("admission", "add", "--session-kind", "chat")
    waiting = imported("why", first["session_id"], first["message_id"], "--user", "ana")
    assert "An admission rule keeps it out of memory" in waiting.stdout
    build()

    status = imported.json("status")["memory"]["admission"]
    assert (status["rules"], status["sessions"]) == (
        1,
        len({each["session_id"] for each in imported.json("pairs", "--user", "ana")}),
    )
    assert status["pairs"] > 0
    assert "not_admitted" in imported("status").stdout
    why = imported.json("why", first["session_id"], first["message_id"], "--user", "ana")
    assert why["decision"]["reason"] == "not_admitted"
    assert why["facts"]["admitted_below"] == 0
    # They stay a person's own to read.
    [shown, *_] = imported.json("pairs", "--user", "ana")
    assert (shown["state"], shown["reason"]) == ("not_remembered", "not_admitted")
    assert shown["user_text"] == first["user_text"]


def test_an_import_says_which_sessions_are_forgotten_in_a_rehearsal_too(imported: Orbit, export: Any) -> None:
    sql(
        imported,
        "insert into memory.tombstone (user_id, agent_id, session_id) select user_id, agent_id, session_id"
        " from orbitpilot.session order by session_id limit 1",
    )

    for options in (["--dry-run"], []):
        [file] = imported.json("import", str(export), "--user", "ana", *options)["files"]
        assert file["session_forgotten"] == 1
        assert (
            "session_forgotten  1 session is kept as history only"
            in imported("import", str(export), "--user", "ana", *options).stdout
        )
