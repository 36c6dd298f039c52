"""Sources by plan by HTTP: the matrix, its preview, its saving, and who may."""

import re
from html import unescape
from typing import Any

import pytest

from orbit_pipelines.model import CHAT_HISTORY
from orbit_pipelines.sources.administration import create_plan, set_cap
from tests.web.conftest import Browser, Pages
from tests.web.test_status_pages import words

ADMIN, PREVIEW = "/admin/sources/", "/admin/sources/preview/"


def fields(page: str, form: str) -> dict[str, str]:
    """Return what a browser would send of the form with an action."""
    start = page.index(f'action="{form}"')
    html = page[start : page.index("</form>", start)]
    sent = {}
    for tag in re.findall(r"<input[^>]+>", html):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name is not None and ('type="checkbox"' not in tag or " checked" in tag):
            sent[name[1]] = unescape(value[1]) if value else "on"
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', html, re.DOTALL):
        chosen = re.search(r'<option value="([^"]+)" selected', options)
        assert chosen is not None
        sent[name] = chosen[1]
    return sent


@pytest.fixture
def admin(pages: Pages) -> Browser:
    """An administrator's browser; two plans, and three people on the smaller one, two of them built."""
    world = pages.world
    create_plan(world.connection, "essential", title="Essential")
    for user in ("noor", "omar"):
        world.say(world.account(user, plan="essential"), "s1", "Plums?", "> Ripe.")
    pages.account("root")
    world.sql("update orbitpilot.account set is_admin = true where user_id = 'root'")
    world.build()
    world.account("newcomer", plan="essential")
    return pages.person("root")


def previewed(admin: Browser, **changed: str | None) -> str:
    """Preview the saved form with some fields changed, None for a box that is not ticked."""
    form: dict[str, Any] = {**fields(admin.get(ADMIN).text, PREVIEW), **changed}
    answer = admin.post(PREVIEW, {name: value for name, value in form.items() if value is not None})
    assert answer.status_code == 200
    return answer.text


def effect_rows(page: str) -> list[str]:
    """Return what a page says of each plan and source that people lose or gain."""
    return [
        " ".join(re.sub(r"<[^>]+>", " ", row).split())
        for row in re.findall(r"<tr role=\"row\" data-effect=.*?</tr>", page, re.DOTALL)
    ]


def test_it_is_for_administrators(pages: Pages) -> None:
    ann = pages.person("ann")

    assert pages.guest().get(ADMIN, follow_redirects=False).status_code == 303
    assert ann.get(ADMIN).status_code == 403
    assert ann.post(PREVIEW).status_code == 403
    assert ann.post(ADMIN, {"cap-0": "0"}).status_code == 403
    assert ADMIN not in ann.get("/orbitpilot/").text


def test_the_matrix_shows_switches_assignments_caps_people_and_a_plain_warning(admin: Browser) -> None:
    page = admin.get(ADMIN).text

    assert fields(page, PREVIEW) | {"seen": ""} == {
        "seen": "",
        "cap-0": "4",
        "cap-1": "3",
        "csrf_token": fields(page, PREVIEW)["csrf_token"],
        **{f"switch-{n}": "on" for n in range(4)},
        **{f"assignment-{m}-{n}": "default" for m in range(2) for n in range(4)},
    }
    told = words(page)
    assert "Essential: Chat history is assigned, but earlier sources fill the cap of 3." in told
    assert "Default default 1 person Essential 3 people" in told
    assert "crowded out by the cap of 3" in told


def test_a_preview_tells_who_loses_and_gains_what_and_saves_nothing(pages: Pages, admin: Browser) -> None:
    page = previewed(admin, **{"cap-1": "4", "switch-1": None, "assignment-1-2": "no"})

    told = words(page)
    assert "What the next build will do if you save" in told
    assert "Default Documents 1 person – switched off" in told
    assert "Essential Documents 2 people – switched off" in told
    assert "Essential Profile facts 2 people – not assigned" in told
    assert "Essential Chat history – 2 people included" in told
    assert "is assigned, but" not in told
    assert pages.world.sql("select included_sources from orbitpilot.plan order by plan_key") == [(4,), (3,)]
    assert pages.world.sql("select count(*) from orbitpilot.source_plan_assignment") == [(0,)]


def test_what_was_previewed_is_what_is_saved(pages: Pages, admin: Browser) -> None:
    page = previewed(admin, **{"cap-1": "4", "switch-1": None, "assignment-1-2": "no", "assignment-0-3": "yes"})

    saved = admin.post(ADMIN, fields(page, ADMIN))

    assert (saved.status_code, saved.headers["location"]) == (303, f"{ADMIN}?saved=true")
    world = pages.world
    assert world.sql("select plan_key, included_sources from orbitpilot.plan order by 1") == [
        ("default", 4),
        ("essential", 4),
    ]
    assert world.sql("select source_key from orbitpilot.memory_source where not in_rag") == [("files.documents",)]
    assert world.sql("select * from orbitpilot.source_plan_assignment order by 1, 2") == [
        ("default", CHAT_HISTORY, True),
        ("essential", "profile.facts", False),
    ]
    saved_page = admin.get(f"{ADMIN}?saved=true").text
    assert effect_rows(saved_page) == effect_rows(page)
    told = words(saved_page)
    assert "1 person is in no build yet and isn't counted here" in told
    assert "Saved. Memory follows at the next build." in told
    assert "Saved, and waiting for the next build" in told
    assert "Essential Chat history – 2 people included" in told
    world.build()
    assert "waiting for the next build" not in words(admin.get(ADMIN).text)


def test_nothing_changed_is_told_and_offers_no_saving(admin: Browser) -> None:
    page = previewed(admin)

    assert "These settings are the saved ones." in words(page)
    assert "Nobody gains or loses a source." in words(page)
    assert ">Save<" not in page


def test_a_form_made_from_other_settings_is_refused(pages: Pages, admin: Browser) -> None:
    page = previewed(admin, **{"cap-1": "4"})
    set_cap(pages.world.connection, "default", 2)

    assert admin.post(ADMIN, fields(page, ADMIN)).status_code == 409
    assert pages.world.sql("select included_sources from orbitpilot.plan order by plan_key") == [(2,), (3,)]


@pytest.mark.parametrize(
    "changed", [{"cap-1": "-1"}, {"cap-1": "many"}, {"cap-1": "9" * 30}, {"cap-1": None}, {"assignment-0-0": "perhaps"}]
)
def test_a_form_that_makes_no_sense_is_refused(changed: dict[str, str | None], admin: Browser) -> None:
    form = {**fields(admin.get(ADMIN).text, PREVIEW), **changed}

    answer = admin.post(PREVIEW, {name: value for name, value in form.items() if value is not None})

    assert answer.status_code == 400


def test_without_the_token_nothing_is_saved(pages: Pages, admin: Browser) -> None:
    form = fields(previewed(admin, **{"cap-1": "4"}), ADMIN)

    assert admin.client.post(ADMIN, data={**form, "csrf_token": "wrong"}).status_code == 403
    assert pages.world.sql("select included_sources from orbitpilot.plan where plan_key = 'essential'") == [(3,)]


def test_it_speaks_french(pages: Pages, admin: Browser) -> None:
    pages.world.sql("update orbitpilot.account set locale = 'fr' where user_id = 'root'")

    told = words(previewed(admin, **{"cap-1": "4"})).replace("\xa0", " ")

    assert "Ce que fera la prochaine construction si vous enregistrez" in told
    assert "Essential Historique de chat – 2 personnes incluse" in told
