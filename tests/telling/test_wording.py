"""The catalogue: both languages, every key, the same placeholders."""

from string import Formatter

import pytest

from orbit_pipelines.building.verdicts import SKIPPED_REASONS
from orbit_pipelines.model import CHAT_HISTORY, Reason
from orbit_pipelines.telling.wording import LOCALES, catalogue, wording_for


def placeholders(text: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("key", catalogue())
def test_every_wording_is_there_in_both_languages_with_the_same_forms_and_placeholders(key: str) -> None:
    forms = catalogue()[key]

    assert set(forms) == set(LOCALES)
    assert forms["en"].keys() == forms["fr"].keys()
    assert "other" in forms["en"]
    assert all(text == text.strip() != "" for each in forms.values() for text in each.values())
    wanted = placeholders(forms["en"]["other"])
    # "The blink" needs no number.
    assert all(wanted - placeholders(text) <= {"count"} for each in forms.values() for text in each.values())
    assert all(placeholders(text) <= wanted for each in forms.values() for text in each.values())
    assert placeholders(forms["fr"]["other"]) == wanted
    assert "count" in wanted or forms["en"].keys() == {"other"}


@pytest.mark.parametrize("reason", [*SKIPPED_REASONS, Reason.LEFT_BRANCH.value])
def test_whatever_keeps_something_out_of_memory_has_words(reason: str) -> None:
    assert f"reason.{reason}" in catalogue()


def test_french_leaves_no_plain_space_before_its_double_punctuation() -> None:
    for key, forms in catalogue().items():
        for text in forms["fr"].values():
            assert not any(f" {mark}" in text for mark in ":;?!»"), key
            assert "« " not in text, key


@pytest.mark.parametrize(
    ("locale", "expected"),
    [("fr", "fr"), ("fr-CA", "fr"), ("FR_be", "fr"), ("en-GB", "en"), ("de", "en"), ("", "en"), (None, "en")],
)
def test_a_locale_finds_its_language_and_english_stands_in_for_others(locale: str | None, expected: str) -> None:
    assert wording_for(locale).locale == expected


@pytest.mark.parametrize(
    ("locale", "limit", "said"),
    [
        ("en", 1, "left out by your plan's limit of 1 source"),
        ("en", 3, "left out by your plan's limit of 3 sources"),
        ("en", 0, "left out by your plan's limit of 0 sources"),
        ("fr", 0, "source laissée de côté par la limite de 0 source de votre plan"),
        ("fr", 3, "source laissée de côté par la limite de 3 sources de votre plan"),
    ],
)
def test_the_cap_is_told_with_its_number(locale: str, limit: int, said: str) -> None:
    assert wording_for(locale).reason(Reason.SOURCE_OVER_CAP, limit=limit) == said


def test_a_source_that_the_project_does_not_ship_goes_by_its_own_title() -> None:
    french = wording_for("fr")

    assert french.source(CHAT_HISTORY, "Chat history") == "Historique de chat"
    assert french.source("mail.inbox", "Mail") == "Mail"
    assert french.source("mail.inbox") == "mail.inbox"


def test_a_wording_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        wording_for("en")("label.missing")
