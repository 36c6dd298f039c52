"""From facts to state: every row of the table of facts, not a sample of it."""

from collections.abc import Iterator
from itertools import product

import polars as pl
import pytest

from orbit_pipelines.building.states import state_of_record
from orbit_pipelines.building.verdicts import SKIPPED_REASONS
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.telling.labels import Label
from orbit_pipelines.telling.standing import Facts, ReplyState, State, decide_standing
from orbit_pipelines.telling.wording import Wording, wording_for

KEPT_OUT = (
    *(Reason.SOURCE_SWITCHED_OFF, Reason.SOURCE_NOT_ASSIGNED, Reason.SOURCE_OVER_CAP),
    *(Reason.SESSION_FORGOTTEN, Reason.NOT_ADMITTED),
)
BOTH = (False, True)


def every_fact() -> Iterator[Facts]:
    """Yield all facts that can be; a flag is a verdict unless something stronger is."""
    verdicts: list[Reason | None] = [None, *map(Reason, SKIPPED_REASONS), Reason.LEFT_BRANCH]
    replies: list[Reason | None] = [None, Reason.REPLY_NOT_REMEMBERED]
    eyes = (Reason.NOT_REMEMBERED, Reason.RECORD_EXCLUDED)
    for is_flagged, verdict, reply_verdict in product(BOTH, verdicts, replies):
        if verdict is Reason.SESSION_FORGOTTEN or is_flagged == (verdict in eyes):
            for has_reply, is_stored, is_reply_stored, is_run_reply_stored, is_text_new in product(BOTH, repeat=5):
                yield Facts(
                    is_flagged,
                    verdict,
                    reply_verdict,
                    has_reply,
                    is_stored,
                    is_reply_stored,
                    is_run_reply_stored,
                    is_text_new,
                )


FACTS = tuple(every_fact())


def label(facts: Facts) -> Label:
    return Label("m1", CHAT_HISTORY, facts.is_flagged, False, decide_standing(facts), limit=3)


def test_the_table_of_facts_is_whole() -> None:
    assert len(FACTS) == len(set(FACTS)) > 800
    assert {facts.verdict for facts in FACTS} == {None, *map(Reason, SKIPPED_REASONS), Reason.LEFT_BRANCH}


@pytest.mark.parametrize(
    ("locale", "tag", "leaving", "out"),
    [
        ("en", "Not remembered", "from the next build on", "already out of memory"),
        ("fr", "Non mémorisé", "à partir de la prochaine construction", "déjà hors de la mémoire"),
    ],
)
def test_a_closed_eye_reads_exactly_not_remembered_with_its_timing(
    locale: str, tag: str, leaving: str, out: str
) -> None:
    for facts in FACTS:
        if facts.is_flagged:
            text = label(facts).text(wording_for(locale))
            is_there = facts.is_stored or facts.is_run_reply_stored
            assert (text.tag, text.timing) == (tag, leaving if is_there else out), facts
            assert str(text).startswith(f"{text.tag}, {text.timing}"), facts


@pytest.mark.parametrize("wording", [wording_for("en"), wording_for("fr")], ids=["en", "fr"])
def test_what_a_source_a_forget_or_an_admission_keeps_out_gives_that_reason_and_never_says_remembered(
    wording: Wording,
) -> None:
    for facts in FACTS:
        if facts.verdict in KEPT_OUT and not facts.is_flagged:
            standing, text = decide_standing(facts), label(facts).text(wording)
            assert standing.state in (State.NOT_REMEMBERED, State.PENDING_REMOVAL), facts
            assert standing.reason is facts.verdict, facts
            assert wording.reason(facts.verdict, limit=3).casefold() in str(text).casefold(), facts
            assert "remembered" not in str(text).casefold(), facts
            assert "mémorisé" not in str(text).casefold(), facts


def test_a_flag_hides_no_stronger_reason() -> None:
    for facts in FACTS:
        if facts.is_flagged:
            expected = facts.verdict if facts.verdict is Reason.SESSION_FORGOTTEN else None
            assert decide_standing(facts).reason is expected, facts


def test_nothing_is_called_remembered_that_is_not_in_memory_or_on_its_way() -> None:
    for facts in FACTS:
        state = decide_standing(facts).state
        assert state is not State.REMEMBERED or facts.is_stored, facts
        assert state is not State.PENDING or (facts.verdict is None and not facts.is_stored), facts
        assert state is not State.PENDING_REMOVAL or facts.is_stored or facts.is_run_reply_stored, facts
        assert state is not State.NOT_REMEMBERED or not facts.is_stored, facts


def test_a_reply_that_stays_out_is_told_with_a_message_that_does_not() -> None:
    for facts in FACTS:
        standing = decide_standing(facts)
        if facts.verdict is not None:
            assert standing.reply is None, facts
        elif facts.reply_verdict is not None:
            is_there = facts.is_stored and facts.is_reply_stored
            assert standing.reply is (ReplyState.LEAVES if is_there else ReplyState.OUT), facts
            assert standing.state in (State.REMEMBERED, State.PENDING), facts
        elif facts.has_reply and facts.is_stored and not facts.is_reply_stored:
            assert standing.reply is ReplyState.JOINS, facts


def test_states_are_those_that_builds_and_the_command_line_tell() -> None:
    rows = [
        {
            "agent_id": "a",
            "session_id": "s",
            "run_index": index,  # a run each
            "is_excluded": each.is_flagged,
            "verdict": each.verdict,
            "is_stored": each.is_stored,
            "is_reply_stored": each.is_run_reply_stored,
            "is_covered": False,
        }
        for index, each in enumerate(FACTS)
    ]
    told = pl.DataFrame(rows, infer_schema_length=None).select(state_of_record().alias("state"))["state"].to_list()
    ours = [decide_standing(each).state for each in FACTS]

    assert ours == told
