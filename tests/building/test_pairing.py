"""Pairing as a pure function, by the numbers messages were stored with."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.building.pairing import MESSAGES, RECORDS, pair_messages, unanswering_replies
from orbit_pipelines.building.verdicts import JUDGED, judge
from orbit_pipelines.model import CHAT_HISTORY

NO_SESSIONS = pl.DataFrame(schema={"user_id": pl.String, "agent_id": pl.String, "session_id": pl.String})


def message(place: int, role: str, content: str | None = None, **columns: Any) -> dict[str, Any]:
    return {
        "user_id": "u",
        "agent_id": "a",
        "session_id": "s",
        "message_id": f"m{place}",
        "position": place,
        "is_active": True,
        "role": role,
        "content": f"text {place}" if content is None else content,
        "not_remembered": False,
        "session_kind": "chat",
        "is_forgotten": False,
        **columns,
    }


def user(place: int, pair: int, run: int | None = None, **columns: Any) -> dict[str, Any]:
    return message(place, "user", pair_index=pair, run_index=pair if run is None else run, **columns)


def reply(place: int, answers: int | None, **columns: Any) -> dict[str, Any]:
    return message(place, "assistant", answers=answers, **columns)


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=MESSAGES)


def judged(*rows: dict[str, Any], reason: str | None = None) -> dict[str, tuple[str | None, str | None]]:
    sources = pl.DataFrame(
        [("u", CHAT_HISTORY, reason)],
        schema={"user_id": pl.String, "source_key": pl.String, "source_reason": pl.String},
        orient="row",
    )
    verdicts = judge(pair_messages(frame(*rows)), sources, NO_SESSIONS)
    assert verdicts.schema == JUDGED
    return {row["source_id"]: (row["verdict"], row["reply_verdict"]) for row in verdicts.iter_rows(named=True)}


def test_every_user_message_is_a_pair_with_all_text_that_answers_it() -> None:
    pairs = pair_messages(frame(user(0, 0), reply(1, 0), reply(2, 0), user(3, 1)))
    assert pairs.schema == RECORDS
    assert pairs.select("source_id", "own_text", "reply_text").rows() == [
        ("s:0", "text 0", "text 1\n\ntext 2"),
        ("s:1", "text 3", None),
    ]


def test_in_a_run_the_reply_belongs_to_the_last_message() -> None:
    pairs = pair_messages(frame(user(0, 0), user(1, 1, run=0), reply(2, 1)))
    assert pairs["reply_text"].to_list() == [None, "text 2"]


def test_a_reply_goes_by_its_number_and_not_by_its_neighbours() -> None:
    messages = frame(user(0, 0), reply(3, 1), reply(4, None))
    assert pair_messages(messages)["reply_text"].to_list() == [None]
    assert unanswering_replies(messages) == 2


def test_a_message_that_left_its_branch_keeps_the_reply_that_left_with_it() -> None:
    pairs = pair_messages(
        frame(user(0, 0, is_active=False), reply(1, 0, is_active=False), user(2, 1), reply(3, 1, is_active=False))
    )
    assert pairs["reply_text"].to_list() == ["text 1", None]


def test_system_and_tool_messages_break_nothing() -> None:
    pairs = pair_messages(frame(user(0, 0), message(1, "tool"), message(2, "system"), reply(3, 0)))
    assert pairs.select("own_text", "reply_text").rows() == [("text 0", "text 3")]


def test_who_stands_behind_a_message_is_told_by_its_author_and_its_session() -> None:
    pairs = pair_messages(
        frame(
            user(0, 0),
            user(1, 1, author="u"),
            user(2, 2, author="somebody"),
            user(3, 3, session_kind="cron"),
            user(4, 4, session_kind="hook"),
        )
    )
    assert pairs["own_class"].to_list() == ["owner", "owner", "untrusted", "system", "untrusted"]


def test_the_first_of_several_verdicts_counts() -> None:
    flags: dict[str, Any] = {"not_remembered": True, "is_active": False, "content": ""}
    assert judged(user(0, 0, is_forgotten=True, absence="message_deleted", **flags)) == {
        "s:0": ("session_forgotten", None)
    }
    assert judged(user(0, 0, absence="message_deleted", **flags)) == {"s:0": ("message_deleted", None)}
    assert judged(user(0, 0, **flags), reason="source_over_cap") == {"s:0": ("not_remembered", None)}
    flags["not_remembered"] = False
    assert judged(user(0, 0, admitted_below=0, **flags), reason="source_over_cap") == {"s:0": ("source_over_cap", None)}
    assert judged(user(0, 0, admitted_below=0, **flags)) == {"s:0": ("not_admitted", None)}
    assert judged(user(0, 0, **flags)) == {"s:0": ("left_branch", None)}
    assert judged(user(0, 0, content=" \n")) == {"s:0": ("no_text", None)}


def test_an_inactive_message_of_a_run_takes_no_reply_with_it() -> None:
    verdicts = judged(
        user(0, 0), user(1, 1, run=0, is_active=False, not_remembered=True), user(2, 2, run=0), reply(3, 2)
    )
    assert verdicts["s:2"] == (None, None)


@given(
    flags=st.lists(st.booleans(), min_size=1, max_size=8),
    runs=st.lists(st.integers(1, 3), min_size=8, max_size=8),
)
def test_excluding_some_messages_changes_no_other_pairs_number_and_no_other_runs_reply(
    flags: list[bool], runs: list[int]
) -> None:
    rows: list[dict[str, Any]] = []
    pair = 0
    for length in runs:
        members = range(pair, min(pair + length, len(flags)))
        rows.extend(user(len(rows), each, run=pair, not_remembered=flags[each]) for each in members)
        if members:
            rows.append(reply(len(rows), members[-1]))
        pair += len(members)
    excluded_runs = {row["run_index"] for row in rows if row["not_remembered"]}
    verdicts = judged(*rows)
    assert list(verdicts) == [f"s:{number}" for number in range(len(flags))]
    for row in rows:
        if row["role"] == "user":
            verdict, reply_verdict = verdicts[f"s:{row['pair_index']}"]
            assert (verdict == "not_remembered") == row["not_remembered"]
            if reply_verdict:
                assert row["run_index"] in excluded_runs
