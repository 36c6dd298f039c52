"""The note in a reply: which questions it comes with, and its words."""

import pytest

from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.sources.availability import SourceStatus
from orbit_pipelines.telling.honesty import honesty_note, touched_sources
from orbit_pipelines.telling.wording import catalogue, wording_for

ENGLISH, FRENCH = wording_for("en"), wording_for("fr")
CROWDED_OUT = (
    SourceStatus("blink.blinks", None),
    SourceStatus("files.documents", Reason.SOURCE_SWITCHED_OFF),
    SourceStatus("profile.facts", None),
    SourceStatus(CHAT_HISTORY, Reason.SOURCE_OVER_CAP),
)

BUILT = {"blink.blinks": True, "profile.facts": False, CHAT_HISTORY: False}


@pytest.mark.parametrize(
    ("question", "touched"),
    [
        ("Do you remember what I told you?", {CHAT_HISTORY}),
        ("What did we say LAST TIME about plums?", {CHAT_HISTORY}),
        ("Tu te souviens de mon chien ?", {CHAT_HISTORY}),
        ("Qu’est-ce que je t’ai dit hier ?", {CHAT_HISTORY}),
        ("Résume la pièce jointe", {"files.documents"}),
        ("Look it up in my documents and our conversations", {"files.documents", CHAT_HISTORY}),
        ("Where are my blinks?", {"blink.blinks"}),
        ("Quel est mon prénom ?", {"profile.facts"}),
        ("What rhymes with orange?", set()),
        ("The purchase was underwhelming", set()),
        ("Mon chat dort dans le château", set()),
        ("", set()),
    ],
)
def test_a_question_touches_the_sources_it_speaks_of_in_either_language(question: str, touched: set[str]) -> None:
    assert touched_sources(question) == touched


def test_the_note_gives_the_reason_of_every_touched_source_that_is_not_included() -> None:
    question = "What do my documents and our conversations and my blinks say?"

    assert honesty_note(CROWDED_OUT, BUILT, question, ENGLISH) == (
        "I can't draw on this. Documents: switched off by the administrator; "
        "Chat history: left out by your plan's limit of 2 sources."
    )
    assert honesty_note(CROWDED_OUT, BUILT, "Tu te souviens ?", FRENCH) == (
        "Je ne peux pas m’appuyer là-dessus. Historique de chat\xa0: "
        "source laissée de côté par la limite de 2 sources de votre plan."
    )


def test_there_is_no_note_where_all_that_is_touched_is_included() -> None:
    assert honesty_note(CROWDED_OUT, BUILT, "Where are my blinks?", ENGLISH) is None
    assert honesty_note(CROWDED_OUT, BUILT, "What rhymes with orange?", ENGLISH) is None


def test_a_source_that_left_the_plan_since_the_last_build_is_drawn_on_until_the_next() -> None:
    question = "What do my documents and our conversations say?"

    assert honesty_note(CROWDED_OUT, {**BUILT, CHAT_HISTORY: True}, question, ENGLISH) == (
        "I can't draw on this. Documents: switched off by the administrator. "
        "This leaves memory at the next build; until then I can still draw on it. "
        "Chat history: left out by your plan's limit of 2 sources."
    )


def test_a_source_that_was_included_since_the_last_build_is_said_to_come() -> None:
    assert honesty_note(CROWDED_OUT, {}, "Where are my blinks?", ENGLISH) == (
        "This is remembered from the next build on; until then I can't draw on it. Blinks."
    )
    assert "à partir de la prochaine construction" in str(honesty_note(CROWDED_OUT, {}, "Where are my blinks?", FRENCH))


def test_every_shipped_source_can_be_touched() -> None:
    sources = {key.removeprefix("source.") for key in catalogue() if key.startswith("source.")}
    assert {key.removeprefix("touches.") for key in catalogue() if key.startswith("touches.")} == sources
